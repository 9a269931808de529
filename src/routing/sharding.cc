#include "baton/sharding.h"

#include <charconv>

#include <xxhash.h>

#include "base/check.h"

namespace baton {
namespace {

static_assert(XXH_VERSION_NUMBER >= 800, "XXH3 is stable from 0.8.0 on");

// Kafka's key hash: MurmurHash2 (Austin Appleby, public domain) with 32 bits, Kafka's seed and
// little-endian words. The constants are those of org.apache.kafka.common.utils.Utils.murmur2.
namespace murmur2 {

constexpr std::uint32_t kSeed = 0x9747b28c;
constexpr std::uint32_t kFactor = 0x5bd1e995;

std::uint32_t LittleEndian(const char* bytes) {
  const auto at = [bytes](int i) { return std::uint32_t{static_cast<unsigned char>(bytes[i])}; };
  return at(0) | at(1) << 8 | at(2) << 16 | at(3) << 24;
}

}  // namespace murmur2

/// The hash without the sign bit. Kafka's producers take it modulo the partitions.
std::uint32_t PositiveMurmur2(std::string_view key) {
  using namespace murmur2;
  constexpr std::uint32_t kWithoutSign = 0x7fffffff;
  std::uint32_t hash = kSeed ^ static_cast<std::uint32_t>(key.size());
  for (; key.size() >= 4; key.remove_prefix(4)) {
    std::uint32_t word = LittleEndian(key.data()) * kFactor;
    word = (word ^ word >> 24) * kFactor;
    hash = (hash * kFactor) ^ word;
  }
  if (!key.empty()) {
    std::uint32_t rest = 0;
    for (; !key.empty(); key.remove_suffix(1)) {
      rest = rest << 8 | std::uint32_t{static_cast<unsigned char>(key.back())};
    }
    hash = (hash ^ rest) * kFactor;
  }
  hash = (hash ^ hash >> 13) * kFactor;
  return (hash ^ hash >> 15) & kWithoutSign;
}

// Lamping and Veach's jump consistent hash. Their proof shows that the quotient of doubles is exact
// enough, and IEEE 754 makes it the same on every machine.
std::uint32_t Jump(std::uint64_t key, std::uint32_t buckets) {
  constexpr std::uint64_t kFactor = 2862933555777941757ull;
  std::int64_t bucket = -1;
  std::int64_t next = 0;
  while (next < buckets) {
    bucket = next;
    key = key * kFactor + 1;
    const double step = static_cast<double>(1ll << 31) / static_cast<double>((key >> 33) + 1);
    next = static_cast<std::int64_t>(static_cast<double>(bucket + 1) * step);
  }
  return static_cast<std::uint32_t>(bucket);
}

std::optional<std::uint64_t> Number(std::string_view text) {
  if (text.size() > 1 && text.front() == '0') return std::nullopt;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::uint64_t ModuloShard(std::string_view key, std::uint32_t shards) {
  const auto number = Number(key);
  return number ? *number % shards : detail::kNoShard;
}

}  // namespace

namespace detail {

std::uint64_t ShardNumberFor(std::string_view key, HashFunction hash,
                             std::uint32_t shards) noexcept {
  BATON_CHECK(shards > 0);
  if (hash == HashFunction::kMurmur2) return PositiveMurmur2(key) % shards;
  if (hash == HashFunction::kXxh3Jump) {
    return Jump(XXH3_64bits(key.data(), key.size()), shards);
  }
  return ModuloShard(key, shards);
}

}  // namespace detail
}  // namespace baton
