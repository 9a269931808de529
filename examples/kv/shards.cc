#include "shards.h"

#include <utility>

namespace kv {

Shards::Shards(std::string folder, std::string group, std::uint32_t count)
    : folder_(std::move(folder)), group_(std::move(group)), shards_(count) {}

ShardStore& Shards::Open(baton::ShardId id, Shard& shard) {
  if (shard.store == nullptr) shard.store = std::make_unique<ShardStore>(folder_, group_, id);
  return *shard.store;
}

bool Shards::Serve(baton::ShardId id, baton::Term term,
                   const std::function<void(ShardStore&)>& serve) {
  Shard& shard = shards_.at(id.value);
  const std::lock_guard lock(shard.mutex);
  if (shard.serving != term) return false;
  serve(*shard.store);
  return true;
}

// Opens the store, which takes long, before the old leader stops. If the shard never comes, its
// store stays open; there are at most as many as the group has shards.
void Shards::Prepare(baton::ShardId id) {
  Shard& shard = shards_.at(id.value);
  const std::lock_guard lock(shard.mutex);
  Open(id, shard);
}

// Raises the fence before the first request is served. If the file can't be opened or has seen a
// newer term, this throws, and the node gives the shard up.
void Shards::Acquired(baton::ShardId id, baton::Term term) {
  Shard& shard = shards_.at(id.value);
  const std::lock_guard lock(shard.mutex);
  Open(id, shard).Raise(term);
  shard.serving = term;
}

void Shards::Releasing(baton::ShardId id, baton::Term) {
  Shard& shard = shards_.at(id.value);
  const std::lock_guard lock(shard.mutex);
  shard.serving = {};
}

void Shards::Lost(baton::ShardId id, baton::Term, baton::Reason) {
  Shard& shard = shards_.at(id.value);
  const std::lock_guard lock(shard.mutex);
  shard.serving = {};
  shard.store.reset();
}

}  // namespace kv
