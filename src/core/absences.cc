#include "core/absences.h"

#include <utility>

namespace baton::core {
namespace {

// A node that is away for longer has lost its claim by any delay that can be set.
constexpr Duration kForgotten = std::chrono::hours(25);

}  // namespace

void Absences::NoteBegan(const NodeId& node, TimePoint earliest, TimePoint now) {
  Seen& known = seen_[node];
  known.here = true;
  known.began_earliest = earliest;
  known.here_since = now;
}

void Absences::NoteEnded(const NodeId& node, Duration delay, TimePoint now) {
  Seen& known = seen_[node];
  const bool stayed =
      known.began_earliest == TimePoint::min() || now >= known.began_earliest + delay;
  if (stayed || known.away_since == TimePoint::max()) known.away_since = now;
  known.here = false;
  std::erase_if(seen_, [&](const auto& entry) {
    const Seen& other = entry.second;
    return !other.here && now >= other.away_since + kForgotten;
  });
}

TimePoint Absences::OverAt(const NodeId& node, Duration delay) const {
  const auto found = seen_.find(node);
  const bool unheard = found == seen_.end();
  const TimePoint since = unheard              ? known_since_
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
