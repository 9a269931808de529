#include "etcd/ready_gaps.h"

#include <algorithm>

#include "base/limits.h"

namespace baton::etcd {

std::vector<std::uint32_t> GapsOf(const std::vector<ShardId>& shards) {
  std::vector<std::uint32_t> gaps;
  const std::size_t count = std::min(shards.size(), kMaxReadyReported);
  gaps.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    gaps.push_back(shards[i].value - (i == 0 ? 0 : shards[i - 1].value));
  }
  return gaps;
}

std::optional<std::vector<ShardId>> ShardsOf(std::span<const std::uint32_t> gaps) {
  if (gaps.size() > kMaxReadyReported) return std::nullopt;
  std::vector<ShardId> shards;
  shards.reserve(gaps.size());
  std::uint64_t shard = 0;  // wide, so that no sum begins at zero again
  for (const std::uint32_t gap : gaps) {
    shard += gap;
    if (shard >= kMaxShards || (gap == 0 && !shards.empty())) return std::nullopt;
    shards.push_back(ShardId{static_cast<std::uint32_t>(shard)});
  }
  return shards;
}

}  // namespace baton::etcd
