#include "core/departures.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace baton::core {

void Departures::Add(Departure departure) {
  const NodeId node = departure.node;
  by_node_[node] = std::move(departure);
  if (by_node_.size() <= kMaxKept) return;
  by_node_.erase(std::min_element(
      by_node_.begin(), by_node_.end(),
      [](const auto& a, const auto& b) { return a.second.seen_at < b.second.seen_at; }));
}

void Departures::NoteBack(const NodeId& node) {
  const auto found = by_node_.find(node);
  if (found != by_node_.end()) found->second.back = true;
}

std::vector<Departure> Departures::Lately(TimePoint now) const {
  std::vector<Departure> lately;
  for (const auto& [node, departure] : by_node_) {
    if (now - departure.seen_at < kToldFor) lately.push_back(departure);
  }
  std::sort(lately.begin(), lately.end(), [](const Departure& a, const Departure& b) {
    return std::tuple(b.seen_at, a.node) < std::tuple(a.seen_at, b.node);
  });
  return lately;
}

}  // namespace baton::core
