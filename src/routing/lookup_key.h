// Checks a key that came with a request, and maps the key to its shard. HTTP, gRPC, batonctl,
// Router and OwnerGuard use these functions.
//
// Pure; any thread.
#pragma once

#include <cstddef>
#include <string_view>

#include "baton/result.h"
#include "baton/types.h"
#include "runtime/control.h"

namespace baton::routing {

/// The most bytes of a key in a lookup. Longer keys can be mapped with baton::ShardFor.
inline constexpr std::size_t kLongestKey = 4096;
/// Returns the error for a key that is too long: kInvalidArgument. `bytes`: the key's length.
Error KeyTooLong(std::size_t bytes);

/// Returns the key's shard. kInvalidArgument: the key is empty, is too long, or does not have the
/// form that the hash function needs. The message does not repeat the key. REQUIRES: shards > 0.
Result<ShardId> ShardOfKey(std::string_view key, HashFunction hash, std::uint32_t shards);
/// Returns the key's shard by the mapping in a node's status. kUnavailable: the node has not read
/// the group yet, or has halted, so its mapping may differ from the group's. Other errors: as
/// above.
Result<ShardId> ShardOfKey(std::string_view key, const runtime::NodeStatus& status);

}  // namespace baton::routing
