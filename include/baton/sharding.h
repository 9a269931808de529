// Which shard a key belongs to. The same answer from this function, batonctl and HTTP (which take
// no empty and no very long keys), and with kMurmur2 from Kafka's Java producer by default, and
// from librdkafka with partitioner=murmur2_random, on as many partitions.
//
// Pure: any thread, no locks, no allocation.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "baton/export.h"
#include "baton/types.h"

namespace baton {

/// The shard of `key` in a group of `shards`. REQUIRES: shards > 0.
///
/// kMurmur2: Kafka's murmur2 of the key's bytes, without the sign bit, modulo the count; of an
/// empty key too (Kafka spreads only records that have no key at all).
/// kXxh3Jump: XXH3's 64 bits without a seed, then jump consistent hash (Lamping and Veach, "A Fast,
/// Minimal Memory, Consistent Hash Algorithm", 2014): in a group created anew with more shards a
/// key stays where it was or goes to a new shard. kModulo: the key is a decimal number below 2^64
/// without sign or leading zeros, modulo the count; nullopt for any other key.
inline std::optional<ShardId> ShardFor(std::string_view key, HashFunction hash,
                                       std::uint32_t shards) noexcept;

namespace detail {

inline constexpr std::uint64_t kNoShard = UINT64_MAX;
/// The shard's number, or kNoShard.
BATON_EXPORT std::uint64_t ShardNumberFor(std::string_view key, HashFunction hash,
                                          std::uint32_t shards) noexcept;

}  // namespace detail

// Inline, so that no optional is returned from a call: GCC writes it to the stack in two parts and
// reads it back as one, which waits until everything before it is done. That was most of the time
// of a look-up by key.
inline std::optional<ShardId> ShardFor(std::string_view key, HashFunction hash,
                                       std::uint32_t shards) noexcept {
  const std::uint64_t number = detail::ShardNumberFor(key, hash, shards);
  if (number == detail::kNoShard) return std::nullopt;
  return ShardId{static_cast<std::uint32_t>(number)};
}

}  // namespace baton
