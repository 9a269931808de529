// Balancer: the elected node plans moves. The leader of each moving shard then transfers it to the
// move's target.
//
// Every node has a Balancer. Only the node that the `balancer` record names plans; the others note
// what moved, in case they are elected. The balancer writes moves, and deletes the policy of an
// operator's `rebalance apply` that is done. It never writes a shard's record.
//
// It plans a rebalance when all these conditions hold:
//  - There is no vacancy, and no shard waits for its owner (FailoverPolicy::kAfter).
//  - The imbalance has lasted rebalance_delay, and the membership has been quiet for as long.
//  - The group does not pause moves.
//
// A rebalance leaves out shards in their cooldown, shards that a failed callback brought to their
// leader, and shards of which several leaders have died soon. Other moves leave none of these out.
// `rebalance apply` needs only the first condition. A drain needs none. A move off a node that a
// placement rule forbids needs only that there is no vacancy, or that some member drains. A shard
// that has to leave its node goes to a target that has not failed to prepare it. If all targets
// have failed, the shard waits for 1 s, and each time twice as long, up to 1 min. If the failover
// policy keeps the shards of a stopping node, none of them moves.
//
// The moves in flight are limited. This limit, the delay and the cooldown are those of MoveLimits,
// as they are when it decides. The balancer plans only once a quarter of the limit (at least one
// move) is free. It deletes moves that can't be carried out. It also deletes moves without
// progress: planned ones after 1.5 times prepare_timeout, prepared ones after 1.5 times the sum of
// release_timeout and callback_timeout. After a refused write it writes nothing for 200 ms.
// Failover never waits for the balancer.
//
// The node that gains a shard reports the loss before it. If nobody may lead the shard (no member
// may lead, or FailoverPolicy::kNever keeps it), the balancer reports the loss, after `settle`.
//
// Pure and single-threaded: owned by the core.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/assignment.h"
#include "core/assignment_of_view.h"
#include "core/context.h"

namespace baton::core {

class Balancer {
 public:
  /// Since this object exists. Deletions are counted when they are sent, whatever their outcome.
  /// Those of a cancelled `rebalance apply` are not counted.
  struct Counters {
    /// Moves deleted because they could not be carried out: the term is over; the target is gone,
    /// drains or fails; or the target declared the move void.
    std::uint64_t voided = 0;
    std::uint64_t timed_out = 0;  ///< moves deleted because they made no progress in time
    std::uint64_t plans = 0;      ///< how often all shards were looked at for a plan
  };

  /// A write of the balancer has the definite outcome `outcome`. Other operations are ignored.
  void On(Context& context, OperationId operation, Outcome outcome);
  /// Records what changed in the view. REQUIRES: every change is passed before the next Advance.
  void Note(const View& view, const ViewChanges& changes) {
    outdated_ = outdated_ || changes.any();
    orphans_outdated_ = orphans_outdated_ || changes.members || changes.policy ||
                        changes.balancer || changes.config || Vacated(view, changes);
    hurried_ = hurried_ || changes.members || changes.policy;
    moved_.Note(changes);
    suspects_.Note(changes);
  }
  /// Campaigns for the role; as the balancer, withdraws and plans moves.
  void Advance(Context& context);
  /// The session is lost: forgets the writes in flight, the imbalance and the failed targets.
  void Clear();
  /// Gives up the role, if this node has it, because the node is stopping.
  void Resign(Context& context);

  /// Whether this node is the balancer: its record is in force and names our live session.
  bool Leads(const Context& context) const;
  const Counters& counters() const { return counters_; }

 private:
  void Campaign(Context& context);
  void CountOrphans(Context& context);
  void CountOrphan(Context& context, ShardId shard);
  void NoteMoves(const Context& context);
  void NoteMove(const Context& context, ShardId shard);
  void NoteMoved(ShardId shard, TimePoint now) {
    if (shard.value >= moved_at_.size())
      moved_at_.resize(shard.value + std::size_t{1}, TimePoint::min());
    moved_at_[shard.value] = now;
  }
  TimePoint MovedAt(ShardId shard) const {
    return shard.value < moved_at_.size() ? moved_at_[shard.value] : TimePoint::min();
  }
  void WithdrawMoves(Context& context);
  bool Stuck(const Context& context, const MoveFact& move) const;
  void WithdrawIfVoid(Context& context, const MoveFact& move, MoveBatch& batch);
  void NoteFailedTarget(const View& view, const MoveFact& move);
  Duration PauseAfterPlan(const Context& context) const;
  void Plan(Context& context);
  bool MayRebalance(const Context& context, bool requested, bool imbalanced);
  std::vector<bool> Movable(const Context& context, const AssignmentOfView& assignment,
                            bool requested);
  void WriteMoves(Context& context, const AssignmentOfView& assignment,
                  const std::vector<PlannedMove>& moves);
  void AvoidFailedTargets(Context& context, const AssignmentInput& input,
                          const std::vector<ShardId>& shard_of, std::vector<PlannedMove>& moves);
  void CancelRequest(Context& context);
  void FinishRequest(Context& context);
  Reason ReasonOf(const Context& context, const PlannedMove& move, const NodeId& from) const;

  struct Seen {
    Term ends;
    MovePhase phase = MovePhase::kPlanned;
    TimePoint since{};
  };

  /// The nodes that failed to prepare a shard in the present term. Its leader drains, or must not
  /// lead it.
  struct FailedTargets {
    Term ends;
    std::set<NodeId> nodes;
    TimePoint not_before{};  ///< when the next drain move may be planned, after all nodes failed
    Duration pause{};
  };

  std::optional<OperationId> campaign_;
  TimePoint campaign_at_ = TimePoint::max();
  std::set<OperationId> writing_;
  TimePoint write_not_before_{};              ///< set after a refusal
  ChangedShards moved_;                       ///< shards whose moves NoteMoves has to record
  ChangedShards suspects_;                    ///< shards whose moves may have become void
  TimePoint withdraw_at_ = TimePoint::max();  ///< when the first of all moves times out
  std::map<ShardId, Seen> seen_;              ///< moves, and when this node first saw their phase
  /// When each shard moved, for the cooldown; min: never. All are kept, because an operator may
  /// order a longer cooldown at any time.
  std::vector<TimePoint> moved_at_;
  std::map<ShardId, FailedTargets> failed_targets_;
  std::map<ShardId, Term> orphaned_;  ///< losses without a successor that were counted already
  bool orphans_outdated_ = true;
  TimePoint count_orphans_at_ = TimePoint::max();
  std::optional<TimePoint> imbalanced_since_;
  bool requested_ = false;  ///< an operator's "apply" is set, or its moves must still be withdrawn
  bool outdated_ = true;
  TimePoint plan_at_{};
  TimePoint planned_at_{};  ///< when the last plan was made
  bool hurried_ = false;    ///< a member or policy has changed, so the next plan comes sooner
  Counters counters_;
};

}  // namespace baton::core
