#include "core/detection.h"

namespace baton::core {
namespace {

// The end of the earlier leader's session, if it left the shard without a leader.
const LeaseEnd* EndBefore(const View& view, const Transition& transition, TimePoint now) {
  const LeaseEnd* end = view.LastLeaseEnd(transition.from);
  return end != nullptr && end->seen_at == now - transition.elect ? end : nullptr;
}

}  // namespace

std::optional<Duration> Detect(const View& view, const Transition& transition, TimePoint now) {
  if (transition.reason != Reason::kProcessDied) return std::nullopt;
  const LeaseEnd* end = EndBefore(view, transition, now);
  return end != nullptr ? end->detect : std::nullopt;
}

std::optional<Duration> DetectAtMost(const Context& context, const Transition& transition) {
  if (transition.reason != Reason::kLeaseExpired) return std::nullopt;
  const LeaseEnd* end = EndBefore(context.view, transition, context.now);
  if (end == nullptr) return std::nullopt;
  return context.session.confirmations().DeadAtMost(end->seen_at, end->revision, end->ttl);
}

void AddDetection(const Context& context, Transition& transition) {
  transition.detect = Detect(context.view, transition, context.now);
  transition.detect_at_most = DetectAtMost(context, transition);
}

}  // namespace baton::core
