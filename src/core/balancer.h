// Balancer: one elected node plans moves; the shards' leaders then resign in favour of the targets.
//
// Every node has this part; only the one whose record `balancer` is in force plans. It writes
// moves, never shards. It starts once an imbalance has lasted, with no vacancy open and the
// membership quiet; drains do not wait. Moves in flight have a budget, moved shards a cooldown.
// Void moves count nowhere and are deleted. Failover never waits for it. It also counts the losses
// that nobody else can: of shards that no member may take over.
//
// Pure and single-threaded: owned by the core.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/context.h"
#include "core/division.h"
#include "core/succession.h"

namespace baton::core {

class Balancer {
 public:
  struct Counters {
    std::uint64_t voided = 0;     ///< moves deleted because their term or target was gone
    std::uint64_t timed_out = 0;  ///< moves withdrawn because they made no progress
  };

  /// Returns false where the operation is not one of these.
  bool On(Context& context, OperationId operation, Outcome outcome);
  /// What the view learnt.
  void Note(const Touched& touched) {
    outdated_ = outdated_ || touched.any();
    orphans_outdated_ = orphans_outdated_ || touched.any();
    if (touched.members || touched.policy) planned_at_ = TimePoint{};
    moved_.Note(touched);
    suspects_.Note(touched);
  }
  void Advance(Context& context);
  /// The session is lost: what was under way counts no more.
  void Clear();
  /// Gives the role up: this node is stopping.
  void Resign(Context& context);

  /// This node plans.
  bool Leads(const Context& context) const;
  const Counters& counters() const { return counters_; }

 private:
  void Campaign(Context& context);
  void CountOrphans(Context& context);
  void CountOrphan(Context& context, ShardId shard);
  void NoteMoves(const Context& context);
  void NoteMove(const Context& context, ShardId shard);
  void WithdrawMoves(Context& context);
  void WithdrawIfVoid(Context& context, const MoveFact& move, MoveBatch& batch);
  void Plan(Context& context);
  bool MayRebalance(const Context& context, bool requested, bool imbalanced);
  std::vector<bool> Movable(const Context& context, const DivisionOfView& division, bool requested);
  void CancelRequest(Context& context);
  void FinishRequest(Context& context);
  Reason ReasonOf(const Context& context, const PlannedMove& move, const NodeId& from) const;

  struct Seen {
    Term ends;
    MovePhase phase = MovePhase::kPlanned;
    TimePoint since{};
  };

  std::optional<OperationId> campaign_;
  TimePoint campaign_at_ = TimePoint::max();
  std::set<OperationId> writing_;
  TimePoint write_not_before_{};              ///< after a refusal
  ChangedShards moved_;                       ///< whose moves were not noted since they changed
  ChangedShards suspects_;                    ///< whose moves may have become void
  TimePoint withdraw_at_ = TimePoint::max();  ///< when the first of all moves exceeds its bound
  std::map<ShardId, Seen> seen_;              ///< moves as this node saw them come
  std::map<ShardId, TimePoint> moved_at_;     ///< for the cooldown
  std::map<ShardId, Term> orphaned_;          ///< losses without a successor that count already
  bool orphans_outdated_ = true;
  TimePoint count_orphans_at_ = TimePoint::max();
  std::optional<TimePoint> imbalanced_since_;
  bool requested_ = false;  ///< an operator's "apply" is there, or its moves are to be withdrawn
  bool outdated_ = true;
  TimePoint plan_at_{};
  TimePoint planned_at_{};  ///< the last time; long ago where the next one need not wait
  Counters counters_;
};

}  // namespace baton::core
