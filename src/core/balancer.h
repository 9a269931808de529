// Balancer: the elected node plans moves of shards. Each shard's leader later transfers the shard
// to the move's target.
//
// Every node has a Balancer. Only one of them plans moves: that of the node which the `balancer`
// record names. Below, "the balancer" is that node. The other nodes note which shards moved, in
// case they are elected. The balancer writes moves, and deletes the policy of an operator's
// `rebalance apply` that is done. It never writes a shard's record.
//
// While nobody has the role, live nodes claim it one after another, in the order of their ids. The
// first member that does not drain claims at once, and each further one 300 ms after the one before
// it. A node in Node::Drain or Node::Stop claims nothing. A node that an operator drains, or that
// is not healthy, claims at the same time as the next member by id that does not drain. Nobody
// replaces a `balancer` record of a newer schema. If a claim is refused and there is still no
// balancer, the node claims again 300 ms later.
//
// The balancer plans a rebalance when all these conditions hold:
//  - There is no vacancy, and no shard is kept for its owner or waits for it
//    (AssignmentOfView::owners_awaited). A shard that AssignmentFrom leaves out is no vacancy.
//  - The imbalance has lasted rebalance_delay, and the membership has been quiet for as long.
//  - The group does not pause moves.
//
// A rebalance leaves out three kinds of shards:
//  - Those in their cooldown.
//  - Those that came to their leader because a callback failed, or took too long, on another node.
//  - Those whose leaders died soon after they began to lead, at least kDeathsBeforeWaiting times in
//    a row. They may be moved again once they have proven harmless (DeathBackoff::LongFrom).
//
// The balancer has other reasons for moves, which leave out none of these shards:
//  - `rebalance apply` needs only the first condition, so it goes on in a pause. It is done once no
//    move is in flight and there is nothing to move, or nothing but shards whose moves failed
//    (failed_targets.h). If an operator cancels it, the balancer deletes the moves with the reason
//    `rebalance` that are not prepared yet. A balancer that was elected later does not.
//  - A drain needs none of the conditions.
//  - If a placement rule forbids a shard's leader, the shard moves away. This needs only that there
//    is no vacancy. While a member drains, it does not even need that.
//
// If a target failed to prepare a shard that must leave its node, the shard goes to another target.
// A shard that need not leave stays where it is for a while (failed_targets.h). No plan replaces a
// move that can still be carried out (View::LiveMove). If the failover policy keeps the shards of a
// stopping node, none of them moves.
//
// The moves in flight are limited. For this limit, rebalance_delay and the cooldown, the balancer
// asks MoveLimitsOf each time that it decides. All moves that can be carried out count as in
// flight, also those that others planned. The balancer plans nothing before a quarter of the limit
// (at least one move) is free.
//
// The balancer deletes moves that can't be carried out (see Counters::voided), and moves that make
// no progress: planned ones after 1.5 times prepare_timeout, prepared ones after 1.5 times the sum
// of release_timeout and callback_timeout. These are this node's own options. The time counts from
// the moment when this node first saw the move in that phase.
//
// While one of its writes of moves or of the policy has no definite outcome, the balancer neither
// plans nor deletes moves. After the refusal of such a write it writes nothing for 200 ms. Failover
// never waits for the balancer.
//
// Normally the node that gains a shard reports that the earlier leader was lost. If no node may
// gain the shard, the balancer reports this loss (orphans.h).
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
#include "core/failed_targets.h"
#include "core/orphans.h"

namespace baton::core {

class Balancer {
 public:
  /// Since this object exists. A deletion of a move is counted when it is sent, whatever its
  /// outcome. If it is refused and sent again, it is counted again. Deletions because a `rebalance
  /// apply` was cancelled are not counted.
  struct Counters {
    /// Moves deleted because they could not be carried out, in these cases:
    ///  - The move can't be read: it is damaged, or has a newer schema.
    ///  - The leadership that it ends is not in force.
    ///  - The target is no live member, is the leader itself, or is forbidden by a rule.
    ///  - The move was declared void, or its target's session that prepared it has ended.
    ///  - The move is not prepared yet, and the target drains.
    ///  - The move is not prepared yet and is no operator's transfer, and the target gets nothing
    ///    for now (NodesThatGetNothing in may_claim.h).
    std::uint64_t voided = 0;
    std::uint64_t timed_out = 0;  ///< moves deleted because they made no progress in time
    std::uint64_t plans = 0;      ///< how often all shards were looked at for a plan
  };

  /// The write with the number `operation` has the definite outcome `outcome`. Ignored if this
  /// object does not wait for that write. REQUIRES: the view has merged what the write read back.
  void On(Context& context, OperationId operation, Outcome outcome);
  /// Records what changed in the view. REQUIRES: every change is passed before the next Advance.
  void Note(const View& view, const ViewChanges& changes) {
    outdated_ = outdated_ || changes.any();
    orphans_.Note(view, changes);
    hurried_ = hurried_ || changes.members || changes.policy;
    moved_.Note(changes);
    suspects_.Note(changes);
  }
  /// Claims the role if nobody has it. If this node is the balancer, it reports losses, deletes
  /// moves and plans moves. While the view is not complete or the session is not live, only notes
  /// which shards moved.
  void Advance(Context& context);
  /// The session is lost: forgets the writes in flight, the failed targets, how long the group has
  /// been imbalanced, and that a `rebalance apply` was in force. Keeps the rest: the moves that it
  /// saw, the time of each shard's last move (for cooldowns), the losses that were reported, and
  /// the counters.
  void Clear();
  /// Gives up the role because the node is stopping. Does nothing if this node does not have the
  /// role.
  void Resign(Context& context);

  /// Whether this node is the balancer: the `balancer` record is in force and names our session,
  /// and the session is live.
  bool Leads(const Context& context) const;
  const Counters& counters() const { return counters_; }

 private:
  void Campaign(Context& context);
  void ReportOrphans(Context& context);
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
  Duration PauseAfterPlan(const Context& context) const;
  void Plan(Context& context);
  bool MayRebalance(const Context& context, bool requested, bool imbalanced);
  std::vector<bool> Movable(const Context& context, const AssignmentOfView& assignment,
                            bool requested);
  void WriteMoves(Context& context, const AssignmentOfView& assignment,
                  const std::vector<PlannedMove>& moves);
  void CancelRequest(Context& context);
  void FinishRequest(Context& context);
  Reason ReasonOf(const Context& context, const PlannedMove& move, const NodeId& from) const;

  struct Seen {
    Term ends;
    NodeId to;  // an operator may replace a dead move by one to another target
    MovePhase phase = MovePhase::kPlanned;
    TimePoint since{};
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
  FailedTargets failed_targets_;
  Orphans orphans_;
  std::optional<TimePoint> imbalanced_since_;
  bool requested_ = false;  ///< an operator's "apply" is set, or its moves must still be withdrawn
  /// since when this node can see moves without a break; max: it can't now
  TimePoint live_since_ = TimePoint::max();
  bool outdated_ = true;
  TimePoint plan_at_{};
  TimePoint planned_at_{};  ///< when the last plan was made
  bool hurried_ = false;    ///< a member or policy has changed, so the next plan comes sooner
  bool claims_ = true;      ///< the last plan saw a vacancy that some node will claim
  Counters counters_;
};

}  // namespace baton::core
