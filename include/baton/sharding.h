// ShardFor: which shard a key belongs to. It takes a key of any length. batonctl, HTTP and
// baton::Router give the same answer, but refuse empty keys and keys above 4,096 bytes. With
// kMurmur2, the answer is also the partition that a Kafka producer chooses in a topic with `shards`
// partitions. That is true for the Java producer by default, and for librdkafka with
// partitioner=murmur2_random.
//
//   const auto shard = baton::ShardFor("order-4711", baton::HashFunction::kMurmur2, 1024);
//
// Pure: any thread, no locks, no allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "baton/export.h"
#include "baton/types.h"

namespace baton {

/// The shard of `key` in a group of `shards` shards. The answer is the same on every machine and in
/// every later version, so you may choose by it where data is stored. REQUIRES (checked; otherwise
/// the program aborts): shards > 0.
///
/// kMurmur2: Kafka's murmur2 of the key's bytes, without the sign bit, modulo `shards`. An empty
/// key has a shard, too. (Kafka spreads only records without a key.)
///
/// kXxh3Jump: XXH3's 64 bits without a seed, then jump consistent hash (Lamping and Veach, "A Fast,
/// Minimal Memory, Consistent Hash Algorithm", 2014). If you create the group again with more
/// shards, each key stays in its shard or goes to a new shard.
///
/// kModulo: the key is a decimal number below 2^64, without sign and leading zeros. The shard is
/// this number modulo `shards`. For any other key the result is nullopt. The other functions never
/// return nullopt.
inline std::optional<ShardId> ShardFor(std::string_view key, HashFunction hash,
                                       std::uint32_t shards) noexcept;
/// Forbids a literal 0 as the key: it would be taken for a null const char*.
std::optional<ShardId> ShardFor(std::nullptr_t, HashFunction, std::uint32_t) = delete;

namespace detail {

inline constexpr std::uint64_t kNoShard = UINT64_MAX;
/// ShardFor as a number; kNoShard for nullopt.
BATON_EXPORT std::uint64_t ShardNumberFor(std::string_view key, HashFunction hash,
                                          std::uint32_t shards) noexcept;

}  // namespace detail

// Inline for speed. If a call returned the optional, GCC would write it to the stack in two parts
// and read it back as one: most of the time of a look-up by key.
inline std::optional<ShardId> ShardFor(std::string_view key, HashFunction hash,
                                       std::uint32_t shards) noexcept {
  const std::uint64_t number = detail::ShardNumberFor(key, hash, shards);
  if (number == detail::kNoShard) return std::nullopt;
  return ShardId{static_cast<std::uint32_t>(number)};
}

}  // namespace baton
