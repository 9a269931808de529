// A member's record lists the shards for which the member is a ready standby, as "gaps". The first
// gap is the number of the first shard. Each further gap is the difference between a shard and the
// shard before it. So a long list stays short in etcd.
//
// Pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/facts.h"

namespace baton::etcd {

/// Returns the gaps of the first kMaxReadyReported shards. REQUIRES (not checked): the shards are
/// sorted and distinct.
std::vector<std::uint32_t> GapsOf(const std::vector<ShardId>& shards);
/// Returns the shards, sorted and distinct. Returns nullopt for gaps that no version writes: a
/// shard comes twice, a number is not below kMaxShards, or the list is longer than
/// kMaxReadyReported.
std::optional<std::vector<ShardId>> ShardsOf(std::span<const std::uint32_t> gaps);

}  // namespace baton::etcd
