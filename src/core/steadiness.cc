#include "core/steadiness.h"

#include <algorithm>

#include "core/options.h"

namespace baton::core {

Duration Steadiness::DelayAfter(int short_sessions) {
  if (short_sessions < kFlapsAfter) return Duration{0};
  Duration delay = kUnsteadyDelay;
  for (int i = kFlapsAfter; i < short_sessions && delay < kMaxUnsteadyDelay; ++i) delay *= 2;
  return std::min(delay, kMaxUnsteadyDelay);
}

bool Steadiness::Counts(const Seen& seen) {
  return seen.ended != TimePoint::max() && !seen.in_order && seen.short_sessions < kFlapsAfter;
}

void Steadiness::NoteBegan(const NodeId& node, TimePoint now) {
  Note(node, [&](Seen& seen) {
    seen.began = now;
    seen.ended = TimePoint::max();
  });
}

bool Steadiness::NoteEnded(const NodeId& node, const End& end, TimePoint now) {
  bool longer = false;
  Note(node, [&](Seen& seen) {
    const Duration delay = DelayAfter(seen.short_sessions);
    const Duration enough = std::max(kShortSession, delay) + end.ttl;
    const bool brief = seen.began != TimePoint::min() && now < seen.began + enough;
    seen.short_sessions = brief ? std::min(seen.short_sessions + 1, kMaxShortSessions) : 0;
    seen.ended = now;
    seen.in_order = end.in_order;
    longer = DelayAfter(seen.short_sessions) > delay;
  });
  return longer;
}

TimePoint Steadiness::UnsteadyUntil(const NodeId& node) const {
  const auto found = seen_.find(node);
  if (found == seen_.end() || found->second.short_sessions < kFlapsAfter) return TimePoint::min();
  return found->second.began + DelayAfter(found->second.short_sessions);
}

Duration Steadiness::DelayOf(const NodeId& node) const { return DelayAfter(ShortSessions(node)); }

int Steadiness::ShortSessions(const NodeId& node) const {
  const auto found = seen_.find(node);
  return found == seen_.end() ? 0 : found->second.short_sessions;
}

bool Steadiness::Flaps(const NodeId& node) const { return ShortSessions(node) >= kFlapsAfter; }

std::vector<TimePoint> Steadiness::GoneSince(TimePoint since) const {
  std::vector<TimePoint> gone;
  for (auto next = gone_.rbegin(); next != gone_.rend() && next->first > since; ++next) {
    gone.push_back(next->first);
  }
  std::reverse(gone.begin(), gone.end());
  return gone;
}

// Forgets first who has been gone for longest.
void Steadiness::Bound() {
  if (seen_.size() <= kMaxNodesRemembered) return;
  const auto first = std::min_element(seen_.begin(), seen_.end(), [](const auto& a, const auto& b) {
    return a.second.ended < b.second.ended;
  });
  gone_.erase({first->second.ended, first->first});
  seen_.erase(first);
}

}  // namespace baton::core
