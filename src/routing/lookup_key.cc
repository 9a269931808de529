#include "routing/lookup_key.h"

#include <string>

#include <fmt/format.h>

#include "baton/sharding.h"

namespace baton::routing {

Error KeyTooLong(std::size_t bytes) {
  return {
      ErrorCode::kInvalidArgument,
      fmt::format(
          "the key has {} bytes; a lookup takes up to {} (longer ones: map them in the library)",
          bytes, kLongestKey)};
}

Result<ShardId> ShardOfKey(std::string_view key, HashFunction hash, std::uint32_t shards) {
  if (key.empty()) return Error{ErrorCode::kInvalidArgument, "the key is empty"};
  if (key.size() > kLongestKey) return KeyTooLong(key.size());
  const auto shard = ShardFor(key, hash, shards);
  if (shard) return *shard;
  return Error{ErrorCode::kInvalidArgument,
               "this group's hash function is modulo, which takes decimal numbers below 2^64 only"};
}

Result<ShardId> ShardOfKey(std::string_view key, const runtime::NodeStatus& status) {
  if (status.halted) return Error{ErrorCode::kUnavailable, "the node has halted; ask another one"};
  if (status.revision.value == 0 || status.shard_count == 0) {
    return Error{ErrorCode::kUnavailable, "the node has not read the group yet"};
  }
  return ShardOfKey(key, status.hash, status.shard_count);
}

}  // namespace baton::routing
