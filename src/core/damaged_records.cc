#include "core/damaged_records.h"

#include <algorithm>

namespace baton::core {

std::set<NodeId> DamagedRecords::LastLeaders() const {
  std::set<NodeId> nodes;
  for (const auto& [shard, damage] : all_) {
    if (damage.last_leader) nodes.insert(damage.last_leader->node);
  }
  return nodes;
}

void DamagedRecords::NoteNext(ShardId shard, const RecordFact& before, bool alive, TimePoint now) {
  const auto added = all_.try_emplace(shard, Damage{.since = now});
  if (!added.second || !before.present || before.leader.empty()) return;
  Damage& damage = added.first->second;
  damage.last_leader = SessionRef{before.leader, before.session};
  damage.over_since = alive ? TimePoint::max() : now;
}

void DamagedRecords::NoteOver(ShardId shard, TimePoint now) {
  Damage& damage = all_.at(shard);
  damage.over_since = std::min(damage.over_since, now);
}

}  // namespace baton::core
