// sharding: keys of any bytes and of up to 1 MiB, by each hash function, for any count of shards.
//
// Must hold: the shard is below the count, and the same for the same bytes at any address. With
// jump hashing, one more shard leaves a key in its shard or moves it to the new one. Modulo accepts
// only decimal numbers. A lookup refuses what its contract says.
#include <algorithm>
#include <memory>

#include "baton/sharding.h"
#include "fuzz/targets.h"
#include "routing/lookup_key.h"

namespace baton::fuzz {
namespace {

constexpr std::size_t kLongest = 1024 * 1024;

// The same bytes at an odd address.
std::optional<ShardId> Elsewhere(std::string_view key, HashFunction hash, std::uint32_t shards) {
  const auto copy = std::make_unique<char[]>(key.size() + 1);
  std::copy(key.begin(), key.end(), copy.get() + 1);
  return ShardFor({copy.get() + 1, key.size()}, hash, shards);
}

bool IsNumber(std::string_view key) {
  const bool digits =
      std::all_of(key.begin(), key.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (key.empty() || !digits || (key.size() > 1 && key.front() == '0')) return false;
  constexpr std::string_view kLargest = "18446744073709551615";
  return key.size() < kLargest.size() || (key.size() == kLargest.size() && key <= kLargest);
}

void MustBeRefusedRightly(std::string_view key, HashFunction hash, std::uint32_t shards) {
  const auto looked_up = routing::ShardOfKey(key, hash, shards);
  const bool taken = !key.empty() && key.size() <= routing::kLongestKey &&
                     (hash != HashFunction::kModulo || IsNumber(key));
  Must(looked_up.ok() == taken, "a look-up refuses empty, long and unfit keys alone");
  if (!looked_up.ok()) return MustBeOneLine(looked_up.error().message);
  Must(looked_up.value() == *ShardFor(key, hash, shards), "a look-up finds the library's shard");
}

}  // namespace

void RunSharding(std::string_view bytes) {
  Input input(bytes);
  const auto hash = static_cast<HashFunction>(input.Choice(3));
  const std::uint32_t shards = std::max(1u, input.Number());
  const std::size_t times = std::size_t{1} << input.Choice(21);
  const std::string_view once = input.Rest();
  std::string key;
  for (std::size_t i = 0; i < times && key.size() + once.size() <= kLongest && !once.empty(); ++i) {
    key += once;
  }
  const auto shard = ShardFor(key, hash, shards);
  Must(shard.has_value() == (hash != HashFunction::kModulo || IsNumber(key)),
       "all keys have a shard but, by modulo, those that are no number", key);
  Must(Elsewhere(key, hash, shards) == shard, "a key's shard does not depend on where it lies",
       key);
  MustBeRefusedRightly(key, hash, shards);
  if (!shard) return;
  Must(shard->value < shards, "a shard lies below the count", key);
  if (hash != HashFunction::kXxh3Jump || shards == UINT32_MAX) return;
  const ShardId grown = *ShardFor(key, hash, shards + 1);
  Must(grown == *shard || grown.value == shards, "one shard more moves a key to that one only",
       key);
}

std::vector<Seed> ShardingSeeds() {
  const auto of = [](int hash, std::uint32_t shards, int doubled, const std::string& key) {
    return std::string(1, static_cast<char>(hash)) + NumberBytes(shards) +
           static_cast<char>(doubled) + key;
  };
  return {{"murmur2", of(0, 12, 0, "customer-17")},
          {"murmur2-long", of(0, 100'000, 20, "k")},
          {"xxh3-jump", of(1, 12, 0, "customer-17")},
          {"xxh3-jump-most", of(1, UINT32_MAX, 12, "k")},
          {"modulo", of(2, 12, 0, "18446744073709551615")},
          {"modulo-no-number", of(2, 12, 0, "017")}};
}

}  // namespace baton::fuzz
