// Keys as requests bring them, for HTTP, batonctl and gRPC alike: checked, then mapped.
//
// Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "baton/result.h"
#include "baton/types.h"

namespace baton::routing {

/// Lookups take keys up to this long; callers with longer ones map them with baton::ShardFor.
inline constexpr std::size_t kLongestKey = 4096;

/// The key's shard. kInvalidArgument: an empty key, one that is too long, or one that the group's
/// hash function does not take; the message does not repeat the key. kUnavailable: `shards` is 0,
/// the group's count is not known yet.
Result<ShardId> ShardOfKey(std::string_view key, HashFunction hash, std::uint32_t shards);

}  // namespace baton::routing
