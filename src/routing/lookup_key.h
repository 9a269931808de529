// Checks a key that came with a request, and maps it to its shard. HTTP, gRPC, batonctl, Router and
// OwnerGuard use it.
//
// Pure; any thread.
#pragma once

#include <cstddef>
#include <string_view>

#include "baton/result.h"
#include "baton/types.h"
#include "runtime/control.h"

namespace baton::routing {

/// The longest key that a lookup accepts, in bytes. Longer keys can be mapped with baton::ShardFor.
inline constexpr std::size_t kLongestKey = 4096;
/// Returns the error for a longer key, of `bytes` bytes: kInvalidArgument.
Error KeyTooLong(std::size_t bytes);

/// Returns the key's shard. kInvalidArgument: the key is empty, is too long, or does not have the
/// form that the hash function needs. The message does not repeat the key. REQUIRES: shards > 0.
Result<ShardId> ShardOfKey(std::string_view key, HashFunction hash, std::uint32_t shards);
/// Returns the key's shard by the mapping in a node's status. Errors: as above. In addition,
/// kUnavailable: the node has not read the group yet, or has halted. Then its mapping may differ
/// from the group's.
Result<ShardId> ShardOfKey(std::string_view key, const runtime::NodeStatus& status);

}  // namespace baton::routing
