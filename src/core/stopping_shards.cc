#include "core/stopping_shards.h"

namespace baton::core {

// A node may lose tens of thousands of shards at once, in order: each is put at the end.
void StoppingShards::Begin(ShardId shard, OperationId operation, TimePoint now) {
  shard_of_.emplace_hint(shard_of_.end(), operation, shard);
  shards_.try_emplace(shards_.end(), shard)->second.push_back({operation, now});
}

bool StoppingShards::Returned(OperationId operation) {
  const auto found = shard_of_.find(operation);
  if (found == shard_of_.end()) return false;
  const auto stopping = shards_.find(found->second);
  std::erase_if(stopping->second,
                [operation](const Lost& lost) { return lost.operation == operation; });
  if (stopping->second.empty()) shards_.erase(stopping);
  shard_of_.erase(found);
  return true;
}

}  // namespace baton::core
