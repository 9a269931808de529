#include "http/shard_ages.h"

#include <algorithm>

namespace baton::http {

void ShardAges::OnRoutes(const runtime::RouteBatch& batch) {
  if (batch.routes.empty()) return;
  const TimePoint now = clock_.Now();
  const std::lock_guard lock(mutex_);
  if (entries_.size() < batch.group->shards) entries_.resize(batch.group->shards);
  for (const runtime::ViewRoute& route : batch.routes) {
    if (route.shard.value >= entries_.size()) continue;
    Entry& entry = entries_[route.shard.value];
    const bool same = entry.term == route.term && entry.state == route.state;
    if (same && entry.since != TimePoint::min()) continue;  // only addresses or standbys changed
    entry = {.term = route.term,
             .state = route.state,
             .since = now,
             .first = entry.since == TimePoint::min()};
  }
}

std::unordered_map<std::uint32_t, ShardAge> ShardAges::Of(
    const std::vector<const runtime::ShardStatus*>& shards) const {
  const TimePoint now = clock_.Now();
  std::unordered_map<std::uint32_t, ShardAge> ages;
  ages.reserve(shards.size());
  const std::lock_guard lock(mutex_);
  for (const runtime::ShardStatus* shard : shards) {
    ShardAge& age = ages[shard->shard.value];
    if (shard->shard.value >= entries_.size()) continue;
    const Entry& entry = entries_[shard->shard.value];
    const bool told = entry.since != TimePoint::min();
    if (!told || entry.term != shard->term || entry.state != shard->state) continue;
    age = {.lasted = std::max(Duration{0}, now - entry.since), .at_least = entry.first};
  }
  return ages;
}

}  // namespace baton::http
