#include "baton/sharding.h"

#include <charconv>

#include <xxhash.h>

#include "base/check.h"
#include "routing/murmur2.h"

namespace baton {
namespace {

static_assert(XXH_VERSION_NUMBER >= 800, "XXH3 is stable from 0.8.0 on");

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

// Separate functions, so that the most common one needs a smaller stack frame.
[[gnu::noinline]] std::uint64_t JumpShard(std::string_view key, std::uint32_t shards) {
  return Jump(XXH3_64bits(key.data(), key.size()), shards);
}

[[gnu::noinline]] std::uint64_t ModuloShard(std::string_view key, std::uint32_t shards) {
  const auto number = Number(key);
  return number ? *number % shards : detail::kNoShard;
}

}  // namespace

namespace detail {

std::uint64_t ShardNumberFor(std::string_view key, HashFunction hash,
                             std::uint32_t shards) noexcept {
  BATON_CHECK(shards > 0);
  if (hash == HashFunction::kMurmur2) return routing::PositiveMurmur2(key) % shards;
  if (hash == HashFunction::kXxh3Jump) return JumpShard(key, shards);
  return ModuloShard(key, shards);
}

}  // namespace detail
}  // namespace baton
