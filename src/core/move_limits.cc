#include "core/move_limits.h"

#include <utility>

namespace baton::core {

MoveLimits MoveLimitsOf(const View& view, const CoreOptions& options) {
  MoveLimits limits{.max_moves = options.max_moves,
                    .rebalance_delay = options.rebalance_delay,
                    .cooldown = options.cooldown};
  const PolicyFact* ordered = view.policy({PolicyKind::kLimits});
  if (ordered == nullptr) return limits;
  if (ordered->max_moves > 0) limits.max_moves = ordered->max_moves;
  if (ordered->rebalance_delay) limits.rebalance_delay = *ordered->rebalance_delay;
  if (ordered->cooldown) limits.cooldown = *ordered->cooldown;
  return limits;
}

PolicyWrite LimitsWrite(const View& view, const LimitsChange& change, const std::string& actor) {
  const PolicyFact* known = view.policy({PolicyKind::kLimits});
  PolicyFact wanted = LimitsAfter(known != nullptr ? *known : PolicyFact{}, change);
  wanted.actor = actor;
  return view.PolicyChange(std::move(wanted));
}

}  // namespace baton::core
