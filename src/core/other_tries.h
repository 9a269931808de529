// OtherTries: planned moves of shards that fail on this node, so that another node tries them once.
//
// The shard's leader knows first that the shard fails, so it plans the move itself, with the reason
// callback_timeout; everything after that is as in every other move. A shard is moved if it failed
// several times here, or if it waits while the node is failing (failed_activations.h).
//
// Rules:
//  - One other try: a shard that failed here and came here by such a move stays. Its record says
//    so. A shard that this node has not tried may move on.
//  - Targets are nodes that may begin to lead and are not failing: first the shard's last leader,
//    then the node with the least load for its weight.
//  - Nothing is planned while the group pauses moves, if failures are common (may_claim.h), or
//    before the failure has lasted for kOtherTryAfter: a common cause shows in that time.
//  - A shard for which there is no target now does not hold the next ones up.
//  - Moves in flight are bounded by the group's limit on moves, less the moves of others; failing
//    nodes share what is left. A shard whose move failed is planned again after a growing pause.
//  - If the shard is activated before its target has prepared, the move is withdrawn.
//
// The plan's guards are the move's revision, this node's session and the policies as read. A late
// copy of the plan does no harm: it names a term that is over, or plans the same move once more.
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
  void Advance(Context& context, const HeldShards& held, const FailedActivations& failed);
  void On(Context& context, OperationId operation, Outcome outcome);
  /// Forgets what was in flight: the session is lost.
  void Clear();

 private:
  struct Planned {
    Term term;               ///< of the leadership that the move should end
    TimePoint not_before{};  ///< the next plan, if this one came to nothing
    Duration pause{};
  };
  /// Where shards may go, and how many.
  struct Targets {
    struct Node {
      std::uint32_t weight = 0;
      std::uint64_t held = 0;
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
  bool common_ = false;           ///< most nodes fail
  TimePoint common_until_{};      ///< and for a while after that
  TimePoint write_not_before_{};  ///< after a refusal
  TimePoint look_not_before_{};
};

}  // namespace baton::core
