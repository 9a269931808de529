// Twenty processes that join an empty group within ten seconds. Judges what etcd kept, and no
// times: on a loaded machine everything takes longer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "baton/options.h"
#include "baton/v1/records.pb.h"
#include "e2e/cluster.h"
#include "e2e/etcd_client.h"

namespace baton::e2e {
namespace {

using std::chrono::milliseconds;

constexpr std::uint32_t kNodes = 20;
constexpr std::uint32_t kShards = 400;
constexpr milliseconds kWithin{10'000};
// Nodes rightly claim without those that join later than this. It is far longer than the default,
// because a loaded machine may delay a start, or the news of a join, by seconds.
constexpr milliseconds kSettle{10'000};

struct Taken {
  std::int64_t revision = 0;
  std::string key;
  std::string leader;
  friend auto operator<=>(const Taken&, const Taken&) = default;
};

// Every leadership that began in the group, in order.
std::vector<Taken> History(EtcdClient& etcd, const Cluster& cluster) {
  std::vector<Taken> history;
  for (const auto& last : etcd.List(cluster.Key("shards/"))) {
    std::optional<etcdserverpb::KeyValue> stored = last;
    while (stored) {
      v1::LeadershipRecord record;
      EXPECT_TRUE(record.ParseFromString(stored->value()));
      history.push_back({stored->mod_revision(), stored->key(), record.leader()});
      stored = etcd.Get(last.key(), stored->mod_revision() - 1);
    }
  }
  std::sort(history.begin(), history.end());
  return history;
}

// The flags of what decides when shards are claimed and moved. All except the settle time are the
// defaults.
std::vector<std::string> Flags() {
  const NodeOptions options;
  const auto flag = [](milliseconds time) { return std::to_string(time.count()) + "ms"; };
  return {"--settle",   flag(kSettle),         "--rebalance-delay", flag(options.rebalance_delay),
          "--cooldown", flag(options.cooldown)};
}

// Starts a process every half second: this pace is the scenario. Returns upper bounds of the times
// between two joins: the first element is that between the first and the second join.
std::vector<Duration> JoinOneByOne(Cluster& cluster, EtcdClient& etcd,
                                   const std::vector<std::string>& ids) {
  const TimePoint begun = BootClock::now();
  const Duration every = Duration(kWithin) / kNodes;
  TimePoint without_next = begun;  // when etcd was last asked, and lacked the next member
  TimePoint without_last = begun;  // when it was asked and still lacked the last member
  std::vector<Duration> gaps;
  std::size_t launched = 0;
  std::size_t joined = 0;
  cluster.Await(
      "all nodes are members",
      [&] {
        const TimePoint asked = BootClock::now();
        for (; launched < ids.size() && asked >= begun + every * launched; ++launched) {
          cluster.Launch(ids[launched], Flags());
        }
        const std::size_t members = etcd.List(cluster.Key("members/")).size();
        if (members > joined) {
          // Of several that joined since then, each may have come long after the one before.
          if (joined > 0) gaps.push_back(BootClock::now() - without_last);
          gaps.resize(members - 1, BootClock::now() - without_next);
          without_last = without_next;
          joined = members;
        }
        without_next = asked;
        return joined == ids.size();
      },
      3 * kPatience);
  for (const std::string& id : ids) cluster.WaitReady(cluster.node(id));
  return gaps;
}

// The most shards that a node led at any time.
std::uint32_t MostLed(const std::vector<Taken>& history) {
  std::map<std::string, std::string> leaders;
  std::map<std::string, std::uint32_t> led;
  std::uint32_t most = 0;
  for (const Taken& taken : history) {
    std::string& leader = leaders[taken.key];
    if (!leader.empty()) --led[leader];
    leader = taken.leader;
    if (!leader.empty()) most = std::max(most, ++led[leader]);
  }
  return most;
}

// How many members were there before the first shard was claimed.
std::uint32_t FoundByTheFirstClaim(EtcdClient& etcd, const Cluster& cluster,
                                   const std::vector<Taken>& history) {
  const auto members = etcd.List(cluster.Key("members/"));
  return static_cast<std::uint32_t>(
      std::count_if(members.begin(), members.end(), [&](const etcdserverpb::KeyValue& member) {
        return member.create_revision() < history.front().revision;
      }));
}

// Twenty processes start within ten seconds, one every half second. They claim together, once the
// last has joined: at no time does a node lead more than twice its share, and at most a tenth of
// the shards moves. tests/core/mass_join_test.cc does the same with 100 nodes, and with the default
// settle time.
//
// If nobody joins for the settle time, because the machine stands still, the nodes rightly claim
// without the later ones. Then the share is that of the members at the first claim,
// and each later one may be handed its part. A claim without later ones is an error if the next one
// joined soon.
TEST(MassJoin, NoProcessTakesMoreThanTwiceItsShareAndLittleMoves) {
  Cluster cluster(SharedEtcd(), {.shards = kShards, .ttl = std::chrono::seconds(10)});
  std::vector<std::string> ids;
  for (std::uint32_t i = 1; i <= kNodes; ++i) ids.push_back("n" + std::to_string(i));
  EtcdClient etcd(SharedEtcd().endpoints());
  const std::vector<Duration> gaps = JoinOneByOne(cluster, etcd, ids);
  cluster.AwaitBalanced({ids.begin(), ids.end()}, 3 * kPatience);
  const std::vector<Taken> history = History(etcd, cluster);
  ASSERT_GE(history.size(), kShards);
  const std::uint32_t found = FoundByTheFirstClaim(etcd, cluster, history);
  ASSERT_GE(found, 1u);
  // Half, as a node hears of a join later than etcd does.
  if (found < kNodes) {
    EXPECT_GE(gaps.at(found - 1), Duration(kSettle) / 2) << "claims with " << found << " members";
  }
  std::size_t to_later_ones = 0;
  for (std::uint32_t there = found + 1; there <= kNodes; ++there) {
    to_later_ones += (kShards + there - 1) / there;
  }
  EXPECT_LE(MostLed(history), 2 * kShards / found);
  EXPECT_LE(history.size() - kShards, kShards / 10 + to_later_ones);
}

}  // namespace
}  // namespace baton::e2e
