// IncomingMoves: the target's side of planned moves.
//
// For each live move to this node, the application's `prepare` callback loads the shard's state.
// Then the node writes `prepared`, with its session, into the move. Only after that does the
// shard's leader hand the shard over. If `prepare` fails, or has not returned within
// prepare_timeout, the node writes `void` with the reason instead, and the leader keeps the shard.
// (Advance notices the timeout.)
//
// If this node is a ready standby for the shard, it has loaded the state already. So the move
// counts as prepared at once, without a callback. But the node may cease to be ready:
//  - If that happens before it sends `prepared`, the callback `prepare` runs after all.
//  - If that happens later, the node waits for the answer to the write of `prepared`. If the move
//    is still planned then, `prepare` runs. If the move is prepared, the node writes `void`: the
//    leader may hand over at any moment, so there is no time to load the state.
//
// Without a listener, each shard counts as prepared at once. If the move ends while `prepare` runs,
// the result is dropped, and nobody tells the application that the move has ended. If another move
// of the shard comes then, its `prepare` waits in the queue until the earlier call has returned,
// but its prepare_timeout begins at once.
//
// A node on which no activation has succeeded yet prepares only a few moves at once. While its
// activations fail (FailedActivations::failing), it prepares no moves. Moves that it does not
// prepare wait, and are looked at again in each Advance; their shards stay with their leaders.
// There are two exceptions: an operator's transfer does not wait, and nothing is limited if the
// failures are common to the group (FailuresAreCommon).
//
// In these cases this class begins nothing, writes nothing and notices no timeout:
//  - The session is not live.
//  - The node was asked to drain or to stop, or has halted (Context::draining). An operator's
//    policy kDrain does not count.
//  - The external application is not attached.
//
// But the deadlines stay (only PushBounds moves them): if a prepare's deadline passes meanwhile,
// the prepare times out at the first Advance afterwards.
//
// This class writes in batches, with at most kMoveBatchesAtOnce in flight. After a refused batch it
// writes nothing for kMinRetryPause. Then it writes again each result that still counts. A
// "prepared" counts if the view still shows the move as planned; a "void" counts if the view still
// shows the move, and not as void. Both constants, and prepare_timeout, are in core/options.h.
//
// Pure and single-threaded: owned by the core.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "core/context.h"
#include "core/standby_duties.h"

namespace baton::core {

class IncomingMoves {
 public:
  struct Counters {
    /// How many `prepare` callbacks failed. Not counted: one that failed after its timeout was
    /// noticed, or after its move had ended, or after Clear.
    std::uint64_t failed = 0;
    std::uint64_t timed_out = 0;  ///< how many exceeded prepare_timeout; not in `failed`
  };

  // Events. Each does nothing if this object does not wait for the operation (any more).
  void On(const CallbackReturned& event, const NodeId& self);
  /// A write's definite outcome. REQUIRES: `outcome` is kDone or kRefused, and the facts in the
  /// write's answer are already merged into the view.
  void On(Context& context, OperationId operation, const Write& write, Outcome outcome);
  /// Records which shards changed in the view; Advance looks at their moves again. REQUIRES: each
  /// ViewChanges of the view is passed here before the next Advance.
  void Note(const ViewChanges& changes) { changed_.Note(changes); }
  /// Drops moves that are no longer live, begins to prepare new incoming moves, and writes the
  /// results of finished preparations. `standby_duties` says for which shards this node is a ready
  /// standby. `room`: how many incoming moves may be in preparation here (FailedActivations::Room).
  /// A move takes room from the start of its preparation until it is no longer live
  /// (View::LiveMove). It is no longer live, for example, once it was carried out, withdrawn or
  /// replaced, or once the view shows our `void`. An operator's transfer begins even if there is no
  /// room; it takes room like other moves.
  void Advance(Context& context, const StandbyDuties& standby_duties, std::size_t room);
  /// Call it when the external application is attached again, after it was detached for `away`.
  /// Adds `away` to the deadlines of all callbacks that run.
  void PushBounds(Duration away);
  /// The session is lost: forgets all moves, because a move that was prepared under that session is
  /// not live any more. The results of callbacks that still run are ignored. The next Advance looks
  /// at all moves of the view again. Keeps the counters, and the pause after a refused batch.
  void Clear();
  /// Whether no move takes room.
  bool empty() const { return preparing_.empty(); }
  const Counters& counters() const { return counters_; }

 private:
  enum class Stage { kCallback, kReady, kFailed, kWriting, kWritten };
  struct Preparing {
    /// The term of the leadership that the move ends. Another move of the shard to this node that
    /// ends the same term counts as the same move (see DropIfGone).
    Term ends;
    OperationId callback = 0;
    Stage stage = Stage::kCallback;
    OperationId write = 0;    ///< the operation that writes the result; meaningful only in kWriting
    bool by_standby = false;  ///< it counts as prepared because this node is a ready standby
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
