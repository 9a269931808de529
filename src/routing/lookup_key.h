// Keys as requests bring them, for HTTP and batonctl alike: checked, then mapped.
//
// Pure; any thread.
#pragma once

#include <cstddef>
#include <string_view>

#include "baton/result.h"
#include "baton/types.h"
#include "runtime/control.h"

namespace baton::routing {

/// Lookups take keys up to this long; callers with longer ones map them with baton::ShardFor.
inline constexpr std::size_t kLongestKey = 4096;
/// The refusal of a longer one.
Error KeyTooLong(std::size_t bytes);

/// The key's shard. kInvalidArgument: an empty key, one that is too long, or one that the group's
/// hash function does not take; the message does not repeat the key. REQUIRES: shards > 0.
Result<ShardId> ShardOfKey(std::string_view key, HashFunction hash, std::uint32_t shards);
/// The same by a node's picture. kUnavailable: the node has not read the group yet, or halted: its
/// own count and function may not be the group's.
Result<ShardId> ShardOfKey(std::string_view key, const runtime::NodeStatus& status);

/// The same where the group is known. REQUIRES: shards > 0.
Result<ShardId> ShardOfKey(std::string_view key, HashFunction hash, std::uint32_t shards);

}  // namespace baton::routing
