// A member's record lists the shards for which the member is a ready standby as "gaps": the number
// of the first shard, then for each further shard its difference to the shard before it. So a long
// list stays short in etcd.
//
// Pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/facts.h"

namespace baton::etcd {

/// Leaves out all but the first kMaxReadyReported shards. REQUIRES: the shards are sorted and
/// distinct.
std::vector<std::uint32_t> GapsOf(const std::vector<ShardId>& shards);
/// The shards, sorted and distinct. Nullopt: a shard is there twice, a number is not below
/// kMaxShards, or there are more than kMaxReadyReported shards. No version writes such gaps.
std::optional<std::vector<ShardId>> ShardsOf(std::span<const std::uint32_t> gaps);

}  // namespace baton::etcd
