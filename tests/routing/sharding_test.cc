// ShardFor: compared with librdkafka's partitions, published hashes of XXH3, and the guarantees of
// jump hash.
#include "baton/sharding.h"

#include <string>
#include <vector>

#include <librdkafka/rdkafka.h>

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace baton {
namespace {

std::uint32_t ByLibrdkafka(const std::string& key, std::uint32_t partitions) {
  return static_cast<std::uint32_t>(rd_kafka_msg_partitioner_murmur2(
      nullptr, key.data(), key.size(), static_cast<std::int32_t>(partitions), nullptr, nullptr));
}

std::uint32_t Shard(std::string_view key, HashFunction hash, std::uint32_t shards) {
  const auto shard = ShardFor(key, hash, shards);
  EXPECT_TRUE(shard.has_value()) << key;
  return shard.value_or(ShardId{}).value;
}

RC_GTEST_PROP(ShardFor, Murmur2PicksWhatAKafkaProducerPicks, (const std::string& key)) {
  const auto shards = *rc::gen::inRange<std::uint32_t>(1, 1'000'001);
  RC_ASSERT(Shard(key, HashFunction::kMurmur2, shards) == ByLibrdkafka(key, shards));
}

// Plan: keys of every length from 0 to 64, and every byte as the last one (signed and unsigned
// bytes differ in the tail).
TEST(ShardFor, Murmur2AgreesOnEveryLengthAndByte) {
  for (int length = 0; length <= 64; ++length) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string key(static_cast<std::size_t>(length), 'k');
      if (!key.empty()) key.back() = static_cast<char>(byte);
      ASSERT_EQ(Shard(key, HashFunction::kMurmur2, 1024), ByLibrdkafka(key, 1024)) << length;
    }
  }
}

// Plan: from n shards to n + 1, a key stays or moves to the new shard; about 1 in n + 1 keys move.
RC_GTEST_PROP(ShardFor, JumpMovesKeysToNewShardsOnly, (const std::string& key)) {
  const auto shards = *rc::gen::inRange<std::uint32_t>(1, 10'000);
  const std::uint32_t before = Shard(key, HashFunction::kXxh3Jump, shards);
  const std::uint32_t after = Shard(key, HashFunction::kXxh3Jump, shards + 1);
  RC_ASSERT(before < shards);
  RC_ASSERT(after == before || after == shards);
}

// Plan: 100,000 keys over 100 shards: each gets about 1,000. The limit is eight standard
// deviations.
TEST(ShardFor, SpreadsKeysEvenly) {
  for (const HashFunction hash : {HashFunction::kMurmur2, HashFunction::kXxh3Jump}) {
    std::vector<int> count(100);
    for (int i = 0; i < 100'000; ++i) ++count[Shard("user-" + std::to_string(i), hash, 100)];
    for (const int each : count) EXPECT_NEAR(each, 1000, 8 * 32) << ToString(hash);
  }
}

// Stored data depends on these values, so they must never change. (XXH3 of the empty text is
// published as 0x2d06800538d394c2; jump hash maps that to 241 of 1,024.)
TEST(ShardFor, NeverChanges) {
  EXPECT_EQ(Shard("", HashFunction::kMurmur2, 1024), 217u);
  EXPECT_EQ(Shard("order-4711", HashFunction::kMurmur2, 1024), 571u);
  EXPECT_EQ(Shard("order-4711", HashFunction::kMurmur2, 1'000'000), 983'611u);
  EXPECT_EQ(Shard("", HashFunction::kXxh3Jump, 1024), 241u);
  EXPECT_EQ(Shard("order-4711", HashFunction::kXxh3Jump, 1024), 463u);
  EXPECT_EQ(Shard("order-4711", HashFunction::kXxh3Jump, 1'000'000), 996'492u);
}

TEST(ShardFor, ModuloTakesDecimalNumbersOnly) {
  EXPECT_EQ(Shard("0", HashFunction::kModulo, 7), 0u);
  EXPECT_EQ(Shard("4711", HashFunction::kModulo, 1000), 711u);
  EXPECT_EQ(Shard("18446744073709551615", HashFunction::kModulo, 1000), 615u);
  for (const char* key : {"", "-1", "+1", " 1", "1 ", "01", "0x1", "one", "18446744073709551616"}) {
    EXPECT_EQ(ShardFor(key, HashFunction::kModulo, 7), std::nullopt) << key;
  }
}

}  // namespace
}  // namespace baton
