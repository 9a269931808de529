// Balancer: the elected node plans moves of shards. Each shard's leader later transfers the shard
// to the move's target.
//
// Every node has a Balancer, but only one of these plans moves: that of the node that the
// `balancer` record names. Below, "the balancer" is that node. The other nodes note which shards
// moved, because they may be elected later. The balancer writes moves. When an operator's
// `rebalance apply` is done, the balancer deletes the policy of this order. No balancer writes a
// shard's record.
//
// While nobody has the role, live nodes claim it one after another, in the order of their ids. Of
// the members that do not drain, the first claims at once, and each further one 300 ms after the
// one before it. A member that an operator drains, or that is not healthy, claims together with the
// next member by id that does not drain. A node in Node::Drain or Node::Stop claims nothing. If a
// `balancer` record has a newer schema, nobody replaces it. If a claim is refused and there is
// still no balancer, the node claims again 300 ms later.
//
// The balancer plans a rebalance when all these conditions hold:
//  - There is no vacancy, and AssignmentOfView::owners_awaited is false. A shard that
//    AssignmentFrom leaves out is no vacancy.
//  - The imbalance has lasted rebalance_delay, and the membership has been quiet for as long.
//  - No operator has paused balance.
//
// A rebalance leaves out three kinds of shards:
//  - Shards in their cooldown.
//  - Shards that came to their leader because a callback failed, or took too long, on another node.
//  - Shards whose leaders died soon after they began to lead, at least kDeathsBeforeWaiting times
//    in a row. These may be moved again once they have proven harmless (DeathBackoff::LongFrom).
//
// For the following reasons, the balancer also moves shards of these three kinds:
//  - `rebalance apply`: needs only the first condition, so it goes on in a pause. It is done once
//    no move is in flight, and nothing is left to move except shards whose moves failed
//    (failed_targets.h). If an operator cancels it, the balancer deletes the moves with the reason
//    `rebalance` that are not prepared yet. A balancer that is elected after the cancellation does
//    not.
//  - A drain: needs none of the conditions.
//  - A placement rule forbids a shard to its leader: needs only that there is no vacancy. While
//    some member drains, it does not need that either.
//
// If a target failed to prepare a shard that must leave its node, the balancer chooses another
// target. A shard that need not leave its node stays there for a while (failed_targets.h). No plan
// replaces a move that can still be carried out (View::LiveMove). If a node stops and the failover
// policy keeps its shards, none of them moves.
//
// The number of moves in flight is limited. For each decision, MoveLimitsOf (move_limits.h) gives
// this limit, rebalance_delay and the cooldown. All moves that can be carried out count as in
// flight, also those that others planned. The balancer plans nothing until a quarter of the limit
// (at least one move) is free.
//
// The balancer deletes moves that can't be carried out (see Counters::voided), and moves that make
// no progress. A planned move may take 1.5 times prepare_timeout. A prepared move may take 1.5
// times the sum of release_timeout and callback_timeout. These timeouts are this node's own
// options. The time begins when this node first sees the move in that phase.
//
// While one of its writes of moves or of the policy has no definite outcome, the balancer neither
// plans nor deletes moves. If such a write is refused, the balancer writes nothing for 200 ms.
// Failover never waits for the balancer.
//
// Usually the node that gains a shard reports that the earlier leader was lost. If no node may gain
// the shard, the balancer reports this loss (orphans.h).
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
  /// Counts since this object exists. The deletion of a move counts when it is sent, whatever its
  /// outcome. If it is refused and sent again, it counts again. Deletions because of a cancelled
  /// `rebalance apply` don't count.
  struct Counters {
    /// Moves deleted because they could not be carried out, in these cases:
    ///  - The move can't be read: it is damaged, or has a newer schema.
    ///  - The leadership that the move ends is not in force.
    ///  - The target is no live member, is the leader itself, or is forbidden by a rule.
    ///  - The move was declared void, or the target's session that prepared it has ended.
    ///  - The move is not prepared yet, and the target drains.
    ///  - The move is neither prepared nor an operator's transfer, and the target gets nothing for
    ///    now (NodesThatGetNothing in may_claim.h).
    std::uint64_t voided = 0;
    std::uint64_t timed_out = 0;  ///< moves deleted because they made no progress in time
    std::uint64_t plans = 0;      ///< how often all shards were looked at for a plan
  };

  /// The write with the number `operation` has this definite outcome. Ignored if this object does
  /// not wait for that write. REQUIRES (not checked): the view has merged what the write read back.
  void On(Context& context, OperationId operation, Outcome outcome);
  /// Records what changed in the view. REQUIRES (not checked): every change is passed before the
  /// next Advance.
  void Note(const View& view, const ViewChanges& changes) {
    outdated_ = outdated_ || changes.any();
    orphans_.Note(view, changes);
    hurried_ = hurried_ || changes.members || changes.policy;
    moved_.Note(changes);
    suspects_.Note(changes);
  }
  /// Claims the role if nobody has it. If this node is the balancer, reports losses, deletes moves
  /// and plans moves. While the view is not complete or the session is not live, only notes which
  /// shards moved.
  void Advance(Context& context);
  /// The session is lost. Forgets the writes in flight, the failed targets, since when the group
  /// has been imbalanced, and that a `rebalance apply` was in force. Keeps the moves that it saw,
  /// the time of each shard's last move (for cooldowns), the losses that were reported, and the
  /// counters.
  void Clear();
  /// Gives up the role, because this node stops. Does nothing if this node does not have the role.
  void Resign(Context& context);

  /// Whether this node is the balancer: the `balancer` record is in force and names this node's
  /// session, and the session is live.
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
