// OtherTries: plans moves of shards that fail on this node, so that another node tries each of them
// once.
//
// A shard fails if its `acquired` fails or exceeds its timeout (failed_activations.h has the
// terms). The shard's leader plans the move, with the reason callback_timeout. The rest of the
// handoff is as usual. A move of a shard is planned in three cases:
//  - The shard failed kFailuresBeforeOtherTry times here.
//  - The shard's `acquired` exceeded its timeout.
//  - The shard waits for a try, this node is failing, and the node's member record says so.
//
// Rules:
//  - One other try: suppose that a shard came here by such a move, so its record has the reason
//    callback_timeout. If it fails here, too, it stays here. If this node has not tried it yet, it
//    may move on.
//  - The target may begin to lead the shard, does not drain, and is not one of NodesThatGetNothing
//    (may_claim.h). The node that led the shard before this one comes first. If it can't be the
//    target, the node with the least load for its weight is. If the shard came here because it
//    failed on its last leader, it does not go back there.
//  - No move is planned while the group pauses moves, under FailoverPolicy::kNever, or with a lock
//    delay.
//  - No move is planned while this node stops (Context::draining), its session is not live, its
//    application is not attached, or no other node may lead.
//  - No move is planned while the failures are common (FailuresAreCommon in may_claim.h), and for
//    kOtherTryAfterCommonCause after that.
//  - If a shard failed here, its move is planned kOtherTryAfter after its first failure, or later.
//  - If this node is failing, it plans no move in the first kOtherTryAfter of the failing. A node
//    that has started over plans no move for kOtherTryAfterCommonCause.
//  - A shard that has a move already, in any phase, gets no other move. A shard without a possible
//    target does not delay the moves of other shards.
//  - The group's limit on moves counts for these moves, too. The failing nodes share the moves that
//    the limit still allows. Each node plans at most its equal share, but always one move if any is
//    allowed. For example, if the limit is 10, 2 moves are in flight and 4 nodes are failing, each
//    node plans 2.
//  - If a move failed, the next move of the shard is planned at least 30 s after the first plan.
//    After each further plan this time doubles, up to 5 min.
//  - If the shard is activated before its target has prepared, the move is withdrawn, even while
//    the group pauses moves. But while this node stops, its session is not live, or its application
//    is not attached, it withdraws no move.
//
// Pure and single-threaded: owned by Leaderships.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "core/context.h"
#include "core/failed_activations.h"
#include "core/held_shard.h"

namespace baton::core {

class OtherTries {
 public:
  /// Withdraws and plans moves. At most one write is in flight. Looks for moves to plan at most
  /// once in kOtherTriesEvery.
  void Advance(Context& context, const HeldShards& held, const FailedActivations& failed);
  /// A write of this object has the definite outcome `outcome`. Ignores other operations. After a
  /// refused write this object writes nothing for kMaxRetryPause.
  void On(Context& context, OperationId operation, Outcome outcome);
  /// The session is lost: forgets all plans, how long shards wait for their next plan, and the
  /// write in flight.
  void Clear();

 private:
  struct Planned {
    Term term;               ///< of the leadership that the move should end
    TimePoint not_before{};  ///< of the next plan, if this one came to nothing
    Duration pause{};
  };
  /// The nodes to which shards may go, and how many shards may go now.
  struct Targets {
    struct Node {
      std::uint32_t weight = 0;
      std::uint64_t held = 0;  ///< with the shards that move there
    };
    std::map<NodeId, Node> nodes;
    std::size_t room = 0;
  };

  bool Wanted(const Context& context, const FailedActivations& failed) const;
  bool CauseIsCommon(Context& context);
  Targets FindTargets(const Context& context) const;
  bool Movable(Context& context, ShardId shard, const HeldShard& held,
               const FailedActivations& failed);
  std::optional<NodeId> Choose(const Context& context, ShardId shard, const Targets& targets) const;
  void PlanShard(Context& context, ShardId shard, const NodeId& target, MoveBatch& batch);
  void ForEachCandidate(Context& context, const FailedActivations& failed,
                        const std::function<bool(ShardId)>& consider) const;
  void Plan(Context& context, const HeldShards& held, const FailedActivations& failed);
  void Withdraw(Context& context, const HeldShards& held);
  void Submit(Context& context, MoveBatch batch);

  std::map<ShardId, Planned> planned_;
  std::optional<OperationId> writing_;
  bool common_ = false;           ///< the failures were common at the last look
  TimePoint common_until_{};      ///< until then they still count as common, after they were
  TimePoint write_not_before_{};  ///< set after a refusal
  TimePoint look_not_before_{};
};

}  // namespace baton::core
