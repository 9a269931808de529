// IncomingMoves: the target's side of planned moves.
//
// For each live move to this node, the application's `prepare` callback loads the shard's state.
// When `prepare` has returned, the node writes `prepared`, with its session, into the move. Only
// after that does the shard's leader hand the shard over. If `prepare` fails or exceeds
// prepare_timeout, the node writes `void` with the reason instead, and the leader keeps the shard.
//
// If this node is a ready standby for the shard, the application has loaded the state already. So
// the move counts as prepared at once, without a callback. But the node may cease to be ready:
//  - Before it sends `prepared`: the callback `prepare` runs after all.
//  - After it has sent `prepared`: the node waits for the answer. If the move is still planned
//    then, `prepare` runs. If the move is prepared, the node writes `void`, because the leader may
//    hand over at any moment.
//
// Without a listener, each shard counts as prepared at once. If the move ends while `prepare` runs,
// this class drops the result, and nobody tells the application that the move has ended. If another
// move of the shard comes then, its prepare_timeout begins at once. But its `prepare` does not run
// before the earlier call has returned.
//
// A node on which no activation has succeeded yet prepares only a few moves at once. While its
// activations fail (FailedActivations::failing), it prepares no moves. The other moves wait for a
// later Advance, and their shards stay with their leaders. Shards that failed here before come last
// (FailedActivations::FailedBefore). An operator's transfer does not wait. If the failures are
// common (FailuresAreCommon in may_claim.h), no move waits.
//
// In these cases this class begins nothing, writes nothing and notices no timeout:
//  - The session is not live.
//  - The node was asked to drain or to stop, or has halted (Context::draining). An operator's
//    policy kDrain does not count.
//  - The external application is not attached.
//
// If the deadline of a `prepare` passes in such a case, `prepare` times out at the first Advance
// after the case is over. PushBounds moves deadlines.
//
// This class writes in batches, with at most kMoveBatchesAtOnce in flight. After a refused batch it
// writes nothing for kMinRetryPause. Then it writes each result again that still counts:
//  - "prepared" counts if the view still shows the move as planned.
//  - "void" counts if the view still shows the move, and not as void.
//
// The constants and prepare_timeout are in core/options.h.
//
// Pure and single-threaded: owned by the core.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "core/context.h"
#include "core/failed_activations.h"
#include "core/standby_duties.h"

namespace baton::core {

class IncomingMoves {
 public:
  struct Counters {
    /// How many `prepare` callbacks failed. A failure does not count if it comes after the timeout
    /// was noticed, after the move has ended, or after Clear.
    std::uint64_t failed = 0;
    std::uint64_t timed_out = 0;  ///< how many exceeded prepare_timeout; not in `failed`
  };

  // Events. Each does nothing if this object does not wait for the operation.
  void On(const CallbackReturned& event, const NodeId& self);
  /// A write has the definite outcome `outcome`. REQUIRES: the view has merged the facts in the
  /// write's answer.
  void On(Context& context, OperationId operation, const Write& write, Outcome outcome);
  /// Records which shards changed in the view; Advance looks at their moves again. REQUIRES: each
  /// ViewChanges of the view is passed here before the next Advance.
  void Note(const ViewChanges& changes) { changed_.Note(changes); }
  /// Drops moves that are no longer live (View::LiveMove), begins to prepare new incoming moves,
  /// and writes the results of finished preparations. `standby_duties` says for which shards this
  /// node is a ready standby. `failed` says how many moves this class may hold at once
  /// (FailedActivations::Room), and which shards failed here before. A move takes room from the
  /// start of its preparation until it is no longer live. A move that was carried out, was
  /// withdrawn or is void is not live. An operator's transfer begins even without room, and then
  /// takes room, too.
  void Advance(Context& context, const StandbyDuties& standby_duties,
               const FailedActivations& failed);
  /// Call PushBounds when the external application is attached again, after it was detached for
  /// `away`. Adds `away` to the deadlines of all callbacks that run.
  void PushBounds(Duration away);
  /// The session is lost: forgets all moves, and ignores the results of callbacks that still run.
  /// The next Advance looks at all moves of the view again. Keeps the counters, and the pause after
  /// a refused batch.
  void Clear();
  /// Whether no move takes room.
  bool empty() const { return preparing_.empty(); }
  const Counters& counters() const { return counters_; }

 private:
  enum class Stage { kCallback, kReady, kFailed, kWriting, kWritten };
  struct Preparing {
    /// The term of the leadership that the move ends. If another move of the shard to this node
    /// ends the same term, both count as the same move (see DropIfGone).
    Term ends;
    OperationId callback = 0;
    Stage stage = Stage::kCallback;
    OperationId write = 0;    ///< the operation that writes the result; meaningful only in kWriting
    bool by_standby = false;  ///< counts as prepared because this node is a ready standby
    bool reported = false;    ///< its phase "prepare" was reported (ReportHandoffPhase)
    TimePoint since{};
    TimePoint deadline{};
    std::string failure;
  };

  bool Wanted(const Context& context, const MoveFact& move) const;
  void Begin(Context& context, const MoveFact& move, bool ready);
  void DropGone(const Context& context);
  void DropIfGone(const Context& context, ShardId shard);
  void BeginIfPlanned(Context& context, ShardId shard, const StandbyDuties& standby_duties,
                      std::size_t room);
  void CheckStandbys(Context& context, const StandbyDuties& standby_duties);
  void Prepare(Context& context, const MoveFact& move, Preparing& preparing);
  void CheckBounds(Context& context);
  void WriteReady(Context& context);
  bool WriteBatch(Context& context);

  std::map<ShardId, Preparing> preparing_;
  ChangedShards changed_;  ///< shards whose moves Advance has to look at
  std::set<OperationId> writing_;
  TimePoint write_not_before_{};  ///< set after a refusal
  Counters counters_;
};

}  // namespace baton::core
