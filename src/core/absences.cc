#include "core/absences.h"

#include <algorithm>
#include <utility>

#include "core/options.h"

namespace baton::core {
namespace {

// A node that is away for longer has lost its claim by any delay that can be set.
constexpr Duration kForgotten = std::chrono::hours(25);

}  // namespace

void Absences::NoteBegan(const NodeId& node, TimePoint earliest, TimePoint now) {
  Seen& known = seen_[node];
  away_.erase({known.away_since, node});
  known.here = true;
  known.began_earliest = earliest;
  known.here_since = now;
}

void Absences::NoteEnded(const NodeId& node, Duration delay, TimePoint now) {
  Seen& known = seen_[node];
  away_.erase({known.away_since, node});
  const bool stayed =
      known.began_earliest == TimePoint::min() || now >= known.began_earliest + delay;
  if (stayed || known.away_since == TimePoint::max()) known.away_since = now;
  known.here = false;
  away_.emplace(known.away_since, node);
  Forget(now);
}

void Absences::Forget(TimePoint now) {
  while (!away_.empty()) {
    const auto first = away_.begin();
    const bool over = now >= first->first + kForgotten;
    if (!over && away_.size() <= kMaxNodesRemembered) return;
    if (!over) forgotten_ = std::max(forgotten_, first->first);
    seen_.erase(first->second);
    away_.erase(first);
  }
}

TimePoint Absences::OverAt(const NodeId& node, Duration delay) const {
  const auto found = seen_.find(node);
  const bool unheard = found == seen_.end();
  const TimePoint since = unheard              ? std::max(known_since_, forgotten_)
                          : found->second.here ? found->second.here_since
                                               : found->second.away_since;
  return since == TimePoint::max() ? since : since + delay;
}

TimePoint Absences::OverInVain(const NodeId& node, Duration delay) const {
  const auto found = seen_.find(node);
  const bool known = found != seen_.end() && found->second.away_since != TimePoint::max();
  return known ? found->second.away_since + delay : OverAt(node, delay);
}

}  // namespace baton::core
