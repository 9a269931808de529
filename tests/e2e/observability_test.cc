// A running node shows probes, metrics and settings. And a balanced group writes nothing to
// etcd.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/cluster.h"
#include "e2e/etcd_client.h"

namespace baton::e2e {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

std::string Reason(const char* reason) {
  return std::string("baton_transitions_total{reason=\"") + reason + "\"}";
}

// A node starts before its etcd: it is alive and not ready, says why, and writes no ready file. It
// becomes ready once etcd is there.
TEST(Probes, ANodeWithoutEtcdIsAliveButNotReady) {
  auto started = StartEtcd();
  ASSERT_TRUE(started.ok()) << started.error().message;
  lab::PrivateEtcd& own = *started.value();
  Cluster cluster(own, {.shards = 6, .ttl = kShortLease});
  cluster.Start("n1");
  cluster.AwaitBalanced({"n1"});
  EXPECT_EQ(cluster.HttpStatus("n1", "/livez"), 200);
  EXPECT_EQ(cluster.HttpStatus("n1", "/readyz"), 200);
  EXPECT_EQ(cluster.HttpStatus("n1", "/shards/0/leader"), 200);
  EXPECT_EQ(cluster.HttpStatus("n1", "/shards/6/leader"), 404);
  EXPECT_EQ(cluster.HttpStatus("n1", "/nothing"), 404);
  own.Kill(0);
  cluster.Await(
      "n1 is not ready", [&] { return cluster.HttpStatus("n1", "/readyz") == 503; },
      cluster.FailoverBound());
  EXPECT_EQ(cluster.HttpStatus("n1", "/livez"), 200);
  EXPECT_EQ(cluster.HttpStatus("n1", "/shards/0/leader"), 503);
  NodeProcess& second = cluster.Launch("n2");
  ASSERT_TRUE(own.Restart(0).ok());
  cluster.WaitReady(second);
  cluster.AwaitBalanced({"n1", "n2"});
}

// Counters equal the events: 12 elections, 4 moves to a joining node, 4 takeovers after a death, 6
// by a drain. Each transition is counted once, by the node that gained the shard.
TEST(Metrics, CountWhatHappened) {
  Cluster cluster(SharedEtcd(), {.shards = 12, .ttl = kShortLease, .flags = kNoGuard});
  const auto sum = [&](const std::vector<std::string>& nodes, const std::string& series) {
    double total = 0;
    for (const std::string& node : nodes) total += cluster.Metric(node, series);
    return total;
  };
  cluster.StartAll({"n1", "n2"});
  cluster.AwaitBalanced({"n1", "n2"});
  const std::string startup = Reason("startup"), rebalance = Reason("rebalance");
  EXPECT_EQ(sum({"n1", "n2"}, startup), 12);
  EXPECT_EQ(sum({"n1", "n2"}, rebalance), 0);

  cluster.Start("n3");
  const Table three = cluster.AwaitBalanced({"n1", "n2", "n3"});
  EXPECT_EQ(cluster.Metric("n3", rebalance), 4);
  EXPECT_EQ(sum({"n1", "n2"}, rebalance), 0);
  EXPECT_EQ(sum({"n1", "n2"}, "baton_moves_total{result=\"done\"}"), 4);
  EXPECT_EQ(cluster.Metric("n3", "baton_shards_led"), 4);
  EXPECT_EQ(cluster.Metric("n3", "baton_shards_target"), 4);
  EXPECT_EQ(cluster.Metric("n3", "baton_nodes"), 3);
  EXPECT_EQ(cluster.Metric("n3", "baton_shards"), 12);
  EXPECT_EQ(cluster.Metric("n3", "baton_lease_ttl_seconds"), 3);
  EXPECT_EQ(sum({"n1", "n2", "n3"}, "baton_is_balancer"), 1);
  for (int shard = 0; shard < 12; ++shard) {
    const Row& row = three[static_cast<std::size_t>(shard)];
    const std::string labels = "{shard=\"" + std::to_string(shard) + "\"}";
    for (const char* node : {"n1", "n2", "n3"}) {
      const double leads = cluster.Metric(node, "baton_shard_leader" + labels, "/metrics/shards");
      EXPECT_EQ(leads, row.leader == node ? 1 : 0) << node << " and shard " << shard;
    }
    EXPECT_EQ(cluster.Metric(row.leader, "baton_shard_term" + labels, "/metrics/shards"),
              static_cast<double>(row.term));
  }

  cluster.node("n3").Kill();
  cluster.AwaitBalanced({"n1", "n2"});
  EXPECT_EQ(sum({"n1", "n2"}, Reason("lease_expired")), 4);
  EXPECT_EQ(sum({"n1", "n2"}, startup), 12);
  EXPECT_EQ(
      sum({"n1", "n2"}, "baton_leaderless_seconds_count{reason=\"lease_expired\",phase=\"elect\"}"),
      4);

  ASSERT_EQ(cluster.Ctl("n2", {"nodes", "drain", "n1"}).exit, 0);
  cluster.AwaitBalanced({"n2"});
  EXPECT_EQ(cluster.Metric("n2", Reason("drain")), 6);
  EXPECT_EQ(cluster.Metric("n1", "baton_shards_led"), 0);
  EXPECT_EQ(cluster.Metric("n2", "baton_shards_leaderless"), 0);
}

// A balanced group writes nothing: during four renewals of every node etcd's revision doesn't
// change.
TEST(Idle, AGroupAtRestMovesNoRevision) {
  auto started = StartEtcd();
  ASSERT_TRUE(started.ok()) << started.error().message;
  EtcdClient etcd(started.value()->endpoints());
  Cluster cluster(*started.value(), {.shards = 300});
  const std::vector<std::string> nodes = {"n1", "n2", "n3"};
  cluster.StartAll(nodes);
  cluster.AwaitBalanced({"n1", "n2", "n3"});
  cluster.Await("a balancer", [&] { return etcd.Get(cluster.Key("balancer")).has_value(); });
  const std::string renewals = "baton_lease_renewals_total{result=\"confirmed\"}";
  std::map<std::string, double> first;
  for (const std::string& node : nodes) first[node] = cluster.Metric(node, renewals);
  const std::int64_t revision = etcd.Revision();
  cluster.Await("four renewals of each", [&] {
    return std::all_of(nodes.begin(), nodes.end(), [&](const std::string& node) {
      return cluster.Metric(node, renewals) >= first[node] + 4;
    });
  });
  EXPECT_EQ(etcd.Revision(), revision);
}

// A setting comes from the flag, else the environment, else the file, else the default: one daemon
// uses all four.
TEST(Settings, OfARealDaemonFollowFlagEnvironmentFileDefault) {
  EtcdClient etcd(SharedEtcd().endpoints());
  Cluster cluster(SharedEtcd(), {.shards = 6, .ttl = seconds(3)});
  const std::string path = cluster.folder() + "/batond.yaml";
  std::ofstream(path) << "zone: from-file\n"
                         "label: [disk=ssd, rack=r7]\n"
                         "ttl: 60s\n"
                         "service-address: file:1\n"
                         "weight: 7\n";
  setenv("BATON_ZONE", "from-environment", 1);
  setenv("BATON_TTL", "50s", 1);
  cluster.Launch("n1", {"--config", path});
  unsetenv("BATON_ZONE");
  unsetenv("BATON_TTL");
  cluster.WaitReady(cluster.node("n1"));
  const std::string nodes = cluster.Ctl("n1", {"nodes", "list", "-o", "json"}).out;
  EXPECT_THAT(nodes, HasSubstr("\"ttl_ms\":3000")) << "flag before environment and file";
  EXPECT_THAT(nodes, HasSubstr("\"zone\":\"from-environment\"")) << "environment before file";
  EXPECT_THAT(nodes, HasSubstr(R"("labels":{"disk":"ssd","rack":"r7"})")) << "a list in the file";
  EXPECT_THAT(nodes, HasSubstr("\"weight\":7")) << "file before default";
  EXPECT_THAT(nodes, HasSubstr("\"service_address\":\"file:1\""));
  EXPECT_TRUE(etcd.Get(cluster.Key("config")).has_value()) << "the default --etcd-prefix";
}

// Weights: a node of weight 2 beside one of weight 1 leads two thirds, one of weight 0 nothing.
TEST(Settings, WeightDecidesTheShare) {
  Cluster cluster(SharedEtcd(), {.shards = 12});
  cluster.Launch("n1");
  cluster.Launch("n2", {"--weight", "2"});
  cluster.Launch("n3", {"--weight", "0"});
  for (const char* id : {"n1", "n2", "n3"}) cluster.WaitReady(cluster.node(id));
  cluster.Await("4, 8 and 0 shards", [&](const Table& now) {
    return LedBy(now, "n1").size() == 4 && LedBy(now, "n2").size() == 8 && LedBy(now, "n3").empty();
  });
}

// Plan: n3 is killed and starts again within its lease with weight 2, then again with weight 1.
// First it gets one shard from each of the others, then it gives one to each. No other leader
// changes, and no other term except those of the shards that n3 led when it was killed.
TEST(Settings, AnotherWeightAtARestartMovesTheDifference) {
  Cluster cluster(SharedEtcd(), {.shards = 12, .ttl = seconds(20), .flags = kNoGuard});
  const auto restart = [&](const char* weight, std::size_t others, std::size_t own) {
    cluster.node("n3").Kill();
    cluster.Start("n3", {"--weight", weight});
    cluster.Await("shares by weight", [&](const Table& now) {
      return LedBy(now, "n1").size() == others && LedBy(now, "n2").size() == others &&
             LedBy(now, "n3").size() == own;
    });
    return cluster.AwaitLed();
  };
  const auto both = [](std::set<int> left, const std::set<int>& right) {
    left.insert(right.begin(), right.end());
    return left;
  };
  cluster.StartAll({"n1", "n2", "n3"});
  const Table even = cluster.AwaitBalanced({"n1", "n2", "n3"});

  const Table heavier = restart("2", 3, 6);
  EXPECT_EQ(Moved(even, heavier).size(), 2u);
  EXPECT_EQ(both(LedBy(even, "n3"), Moved(even, heavier)), LedBy(heavier, "n3"));
  EXPECT_EQ(Retermed(even, heavier), LedBy(heavier, "n3"));

  const Table lighter = restart("1", 4, 4);
  EXPECT_EQ(Moved(heavier, lighter).size(), 2u);
  EXPECT_EQ(both(LedBy(lighter, "n3"), Moved(heavier, lighter)), LedBy(heavier, "n3"));
  EXPECT_EQ(Retermed(heavier, lighter), LedBy(heavier, "n3"));
}

}  // namespace
}  // namespace baton::e2e
