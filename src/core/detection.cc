#include "core/detection.h"

namespace baton::core {

std::optional<Duration> DetectAtMost(const Context& context, const Transition& transition) {
  const LeaseEnd* end =
      EndsADeath(transition.reason) ? context.view.LastLeaseEnd(transition.from) : nullptr;
  if (end == nullptr || end->seen_at != context.now - transition.elect) return std::nullopt;
  return context.session.confirmations().DeadAtMost(end->seen_at, end->revision, end->ttl);
}

}  // namespace baton::core
