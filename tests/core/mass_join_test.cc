// Many nodes that join an empty group within seconds: nobody takes more than its part meanwhile,
// and little has to move afterwards.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/cluster.h"

namespace baton::test {
namespace {

constexpr int kNodes = 100;
constexpr std::uint32_t kShards = 1000;
constexpr int kJoinMs = 10'000;
constexpr std::uint64_t kJoinSeeds = BATON_FEWER_SEEDS > 1 ? 1 : 3;

struct Joined {
  std::uint32_t most_led = 0;  ///< by any node at any time
  std::size_t moved = 0;       ///< transfers in all
  bool settled = false;
};

// All nodes start at times that the seed decides, within ten seconds.
Joined JoinAll(std::uint64_t seed, ClusterOptions options) {
  options.seed = seed;
  options.nodes = kNodes;
  options.shards = kShards;
  options.listener = false;
  Cluster cluster(std::move(options));
  std::multimap<int, NodeId> starts;
  std::uint64_t state = seed * 2654435761u + 1;
  for (const NodeId& node : cluster.names()) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    starts.emplace(static_cast<int>((state >> 33) % kJoinMs), node);
  }
  Joined result;
  std::map<ShardId, NodeId> leader_of;
  std::map<ShardId, NodeId> last_of;  // also while nobody leads
  std::map<NodeId, std::uint32_t> count;
  Revision seen = cluster.store().revision();
  for (int ms = 0; ms < 60'000; ms += 50) {
    for (; !starts.empty() && starts.begin()->first <= ms; starts.erase(starts.begin())) {
      cluster.Start(starts.begin()->second);
    }
    cluster.Run(milliseconds(50));
    for (const Fact& fact : cluster.store().ChangesAfter(seen).facts) {
      const auto* record = std::get_if<ShardRecordFact>(&fact);
      if (record == nullptr) continue;
      const NodeId& leader = record->record.leader;
      const NodeId before = std::exchange(leader_of[record->shard], leader);
      if (before == leader) continue;
      if (!before.empty()) --count[before];
      if (leader.empty()) continue;
      result.most_led = std::max(result.most_led, ++count[leader]);
      const NodeId last = std::exchange(last_of[record->shard], leader);
      if (!last.empty() && last != leader) ++result.moved;
    }
    seen = cluster.store().revision();
    if (ms > kJoinMs && cluster.Settled()) break;
  }
  result.settled = cluster.Settled();
  EXPECT_EQ(cluster.violations(), kNone);
  return result;
}

void ExpectSpread(const Joined& joined, std::uint64_t seed) {
  EXPECT_TRUE(joined.settled) << "seed " << seed;
  EXPECT_LE(joined.most_led, 2 * kShards / kNodes) << "seed " << seed;
  EXPECT_LE(joined.moved, kShards / 10) << "seed " << seed;
}

// Plan: a hundred nodes, a good network.
TEST(MassJoin, NobodyTakesMoreThanTwiceItsShareAndLittleMoves) {
  for (std::uint64_t seed = 1; seed <= kJoinSeeds; ++seed) ExpectSpread(JoinAll(seed, {}), seed);
}

// Plan: a hundred nodes that hear of etcd late and get answers late, as on a host without spare
// time. They see the last one join at different times, and some look as if they stalled.
TEST(MassJoin, SlowNodesShareAsWell) {
  for (std::uint64_t seed = 1; seed <= kJoinSeeds; ++seed) {
    ClusterOptions slow;
    slow.latency_most = milliseconds(400);
    slow.watch_delay_most = seconds(1);
    ExpectSpread(JoinAll(seed, std::move(slow)), seed);
  }
}

}  // namespace
}  // namespace baton::test
