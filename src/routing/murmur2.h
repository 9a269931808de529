// Kafka's key hash: MurmurHash2 (Austin Appleby, public domain) with 32 bits, Kafka's seed and
// little-endian words. The constants are those of org.apache.kafka.common.utils.Utils.murmur2. Also
// a fast remainder for a divisor that stays the same.
//
// Inline, because a route's look-up takes only a few times as long as the hash. Pure; any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace baton::routing {

namespace murmur2 {

inline constexpr std::uint32_t kSeed = 0x9747b28c;
inline constexpr std::uint32_t kFactor = 0x5bd1e995;

inline std::uint32_t LittleEndian(const char* bytes) {
  const auto at = [bytes](int i) { return std::uint32_t{static_cast<unsigned char>(bytes[i])}; };
  return at(0) | at(1) << 8 | at(2) << 16 | at(3) << 24;
}

}  // namespace murmur2

/// Kafka's hash of a key without the sign bit. Kafka's producers take it modulo the partitions.
inline std::uint32_t PositiveMurmur2(std::string_view key) {
  using namespace murmur2;
  constexpr std::uint32_t kWithoutSign = 0x7fffffff;
  std::uint32_t hash = kSeed ^ static_cast<std::uint32_t>(key.size());
  for (; key.size() >= 4; key.remove_prefix(4)) {
    std::uint32_t word = LittleEndian(key.data()) * kFactor;
    word = (word ^ word >> 24) * kFactor;
    hash = (hash * kFactor) ^ word;
  }
  if (!key.empty()) {
    // No array here: it would cost every look-up a stack frame.
    std::uint32_t rest = 0;
    for (; !key.empty(); key.remove_suffix(1)) {
      rest = rest << 8 | std::uint32_t{static_cast<unsigned char>(key.back())};
    }
    hash = (hash ^ rest) * kFactor;
  }
  hash = (hash ^ hash >> 13) * kFactor;
  return (hash ^ hash >> 15) & kWithoutSign;
}

/// Computes `number % count` exactly for every 32-bit number, with two multiplications instead of a
/// division (Lemire, Kaser and Kurz, "Faster Remainder by Direct Computation", 2019).
class Remainder {
 public:
  /// REQUIRES: count > 0, unless Of is never called.
  explicit Remainder(std::uint32_t count)
      : count_(count), reciprocal_(count == 0 ? 0 : UINT64_MAX / count + 1) {}

  std::uint32_t Of(std::uint32_t number) const {
    __extension__ using Wide = unsigned __int128;
    const std::uint64_t fraction = reciprocal_ * number;
    return static_cast<std::uint32_t>(static_cast<Wide>(fraction) * count_ >> 64);
  }

 private:
  std::uint32_t count_;
  std::uint64_t reciprocal_;
};

}  // namespace baton::routing
