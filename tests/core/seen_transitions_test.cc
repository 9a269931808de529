// A node reports others' leaderships: each once, and nothing of its own twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "core/cluster.h"

namespace baton::test {
namespace {

/// All transitions of the group that `node` reports: those it counts and those it sees.
std::map<std::pair<ShardId, Term>, std::vector<Transition>> ToldBy(const Cluster& cluster,
                                                                   const NodeId& node) {
  std::map<std::pair<ShardId, Term>, std::vector<Transition>> told;
  for (const auto& [at, report] : cluster.Asked<core::ReportTransition>(node)) {
    const Transition& transition = report.transition;
    told[{transition.shard, transition.term}].push_back(transition);
  }
  for (const auto& [at, seen] : cluster.Asked<core::SeeTransition>(node)) {
    EXPECT_NE(seen.transition->to, node) << "its own are counted, not seen";
    told[{seen.transition->shard, seen.transition->term}].push_back(seen.transition);
  }
  return told;
}

// Plan: three nodes, one dies. Both survivors report each of its shards once, and agree on
// everything but the length of the gap: a node that did not gain a shard may have heard of death
// and claim at once.
TEST(SeenTransitions, OfADeadNodesShardsAreTheSameOnAllSurvivors) {
  Cluster cluster({});
  ASSERT_TRUE(cluster.Up());
  const std::vector<ShardId> lost = cluster.ShardsOf("n3");
  ASSERT_FALSE(lost.empty());
  cluster.Kill("n3");
  const auto settled = [&] { return cluster.Settled(); };
  ASSERT_TRUE(cluster.RunUntil(settled, seconds(60))) << cluster.WhyNotSettled();
  cluster.Run(seconds(1));
  const auto one = ToldBy(cluster, "n1");
  const auto two = ToldBy(cluster, "n2");
  for (const ShardId shard : lost) {
    const std::pair key{shard, cluster.TermOf(shard)};
    ASSERT_TRUE(one.contains(key) && two.contains(key)) << "shard " << shard.value;
    ASSERT_EQ(one.at(key).size(), 1u);
    ASSERT_EQ(two.at(key).size(), 1u);
    const NodeId leader = cluster.LeaderOf(shard);
    EXPECT_GT((leader == "n1" ? one : two).at(key)[0].elect, Duration{0});
    for (const Transition& told : {one.at(key)[0], two.at(key)[0]}) {
      EXPECT_EQ(told.reason, Reason::kLeaseExpired);
      EXPECT_EQ(told.from, "n3");
      EXPECT_EQ(told.to, leader);
    }
  }
  EXPECT_TRUE(cluster.violations().empty());
}

// Plan: a node that joins a group at rest has seen no change. It reports moves to itself like the
// others.
TEST(SeenTransitions, WhatTheFirstReadShowsIsNone) {
  ClusterOptions options;
  options.nodes = 3;
  Cluster cluster(std::move(options));
  cluster.Start("n1");
  cluster.Start("n2");
  const auto led = [&] { return cluster.LedBy("n1") + cluster.LedBy("n2") == 12; };
  ASSERT_TRUE(cluster.RunUntil(led, seconds(60)));
  cluster.Run(seconds(1));
  cluster.Start("n3");
  const auto settled = [&] { return cluster.Settled(); };
  ASSERT_TRUE(cluster.RunUntil(settled, seconds(120))) << cluster.WhyNotSettled();
  cluster.Run(seconds(1));
  const auto mine = ToldBy(cluster, "n3");
  const auto others = ToldBy(cluster, "n1");
  EXPECT_EQ(mine.size(), cluster.LedBy("n3")) << "only its own gains";
  for (const auto& [key, told] : mine) {
    ASSERT_TRUE(others.contains(key));
    EXPECT_EQ(others.at(key).size(), 1u);
    EXPECT_EQ(others.at(key)[0].reason, Reason::kRebalance);
    EXPECT_EQ(others.at(key)[0].from, told[0].from);
    EXPECT_EQ(others.at(key)[0].to, "n3");
  }
}

// Plan: nobody may take a stopped node's shards, because all others have weight 0. The balancer
// counts the losses, and the other node reports them as well.
TEST(SeenTransitions, ALossWithoutSuccessorIsToldByAll) {
  ClusterOptions options;
  options.tune = [](core::CoreOptions& tuned) {
    tuned.self.weight = tuned.self.node == "n1" ? 1 : 0;
  };
  Cluster cluster(std::move(options));
  ASSERT_TRUE(cluster.Up());
  const Term term = cluster.TermOf(ShardId{0});
  cluster.Kill("n1");
  const auto told = [&](const NodeId& node) {
    const auto all = ToldBy(cluster, node);
    const auto found = all.find({ShardId{0}, term});
    if (found == all.end()) return false;
    return std::any_of(found->second.begin(), found->second.end(),
                       [](const Transition& one) { return one.to.empty() && one.from == "n1"; });
  };
  const auto both = [&] { return told("n2") && told("n3"); };
  EXPECT_TRUE(cluster.RunUntil(both, seconds(60)));
}

}  // namespace
}  // namespace baton::test
