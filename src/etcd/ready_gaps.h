// The shards for which a member is a ready standby, as its record has them: the first one's number,
// then the difference of each to the one before. So a long list stays short in etcd.
//
// Pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/facts.h"

namespace baton::etcd {

/// The first kMaxReadyReported shards. REQUIRES: the shards are sorted and distinct.
std::vector<std::uint32_t> GapsOf(const std::vector<ShardId>& shards);
/// The shards, sorted and distinct. Nullopt: no version writes such gaps. A shard is there twice, a
/// number is not below kMaxShards, or there are more than kMaxReadyReported shards.
std::optional<std::vector<ShardId>> ShardsOf(std::span<const std::uint32_t> gaps);

}  // namespace baton::etcd
