// OtherTries: plans moves of shards that fail on this node, so that another node tries each of them
// once.
//
// The shard's leader knows first that the shard fails, so it plans the move itself, with the reason
// callback_timeout. Everything after that is as in every other move. A move of a shard is planned
// in three cases:
//  - The shard failed kFailuresBeforeOtherTry times here.
//  - Its callback exceeded its timeout.
//  - It waits for a try while this node is failing and the node's member record says so
//    (failed_activations.h).
//
// Rules:
//  - One other try: if a shard came here by such a move (its record has the reason
//    callback_timeout) and failed here, too, it stays. If this node has not tried it yet, it may
//    move on.
//  - The target may begin to lead the shard, does not drain, and is not one of NodesThatGetNothing.
//    If possible it is the node that led the shard before this one; otherwise it is the node with
//    the least load for its weight. If the shard came here because it failed on its last leader, it
//    does not go back there.
//  - No move is planned while the group pauses moves, under FailoverPolicy::kNever, or with a lock
//    delay.
//  - No move is planned while this node stops (Context::draining), while its session is not live or
//    its application is not attached, or if no other node may lead.
//  - No move is planned while the failures are common (may_claim.h), and for
//    kOtherTryAfterCommonCause after they ceased to be common.
//  - No move of a shard that failed here is planned before kOtherTryAfter has passed since its
//    first failure. If this node is failing, no move at all is planned before kOtherTryAfter has
//    passed since the failing began. A common cause shows in that time. A node that has started
//    over plans no move for kOtherTryAfterCommonCause.
//  - A shard that has a move already, in any phase, gets no other move. A shard without a possible
//    target does not delay the moves of others.
//  - The group's limit on moves also bounds these moves. The failing nodes share the moves that the
//    limit still allows: each plans its equal share at most, but always one if any is allowed. For
//    example, if 10 moves are allowed, 2 are in flight and 4 nodes are failing, each plans 2.
//  - If a move came to nothing, the next move of the shard is planned 30 s after the plan of the
//    first one, or later. After each further plan this time is twice as long, up to 5 min.
//  - If the shard is activated before its target has prepared, the move is withdrawn, even while
//    the group pauses moves. But this node withdraws no move while it stops, while its session is
//    not live, or while its application is not attached.
//
// The plan's guards are that the shard has no move, this node's session, and the policies as read.
// A late copy of the plan does no harm: it names a term that is over, or plans the same move once
// more.
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
  /// A write of this object has the definite outcome `outcome`. Other operations are ignored. After
  /// a refused write this object writes nothing for kMaxRetryPause.
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
