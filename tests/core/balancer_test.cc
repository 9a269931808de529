// Balance in a small cluster: who plans, when it starts, and how much moves at once.
#include "core/balancer.h"

#include <gtest/gtest.h>

#include "core/cluster.h"

namespace baton::test {
namespace {

const std::vector<std::string> kNone;

class BalancerTest : public ::testing::Test {
 protected:
  // n1 to n3, twelve shards; n3 is started by the tests.
  static ClusterOptions Options() {
    ClusterOptions options;
    options.tune = [](core::CoreOptions& tuned) {
      tuned.rebalance_delay = seconds(4);
      tuned.cooldown = seconds(10);
      tuned.max_moves = 2;
      tuned.prepare_timeout = tuned.release_timeout = tuned.callback_timeout = seconds(4);
    };
    return options;
  }
  void SetUp() override {
    cluster_.Start("n1");
    cluster_.Start("n2");
    ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.Settled(); }, seconds(20)));
  }
  NodeId Balancer() { return cluster_.store().Balancer().leader; }
  std::size_t Moved() { return cluster_.TransitionsOf(Reason::kRebalance).size(); }
  bool Balanced() { return cluster_.LedBy("n3") == 4 && cluster_.Settled(); }
  Cluster cluster_{Options()};
};

// Plan: a third node joins. Nothing moves for the delay; then exactly four shards do, and it is
// over.
TEST_F(BalancerTest, ANewcomerGetsItsShareOnceTheImbalanceHasLasted) {
  cluster_.Start("n3");
  cluster_.Run(milliseconds(3900));
  EXPECT_EQ(cluster_.store().MoveCount(), 0u);
  EXPECT_EQ(cluster_.LedBy("n3"), 0u);
  EXPECT_TRUE(cluster_.RunUntil([&] { return Balanced(); }, seconds(10)))
      << cluster_.WhyNotSettled();
  EXPECT_EQ(Moved(), 4u);
  cluster_.Run(seconds(60));
  EXPECT_EQ(Moved(), 4u);
  EXPECT_EQ(cluster_.violations(), kNone);
}

// Plan: preparing takes for ever; never more than two moves are open.
TEST_F(BalancerTest, MovesInFlightHaveABudgetAndNoWakingUpMeanwhile) {
  cluster_.Behave("n3", core::CallbackKind::kPrepare, Behaviour::kHangs);
  cluster_.Start("n3");
  ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.store().MoveCount() > 0; }, seconds(10)));
  const std::uint64_t steps = cluster_.steps();
  cluster_.Run(seconds(2));
  EXPECT_EQ(cluster_.store().MoveCount(), 2u);
  EXPECT_LT(cluster_.steps() - steps, 60u);
  EXPECT_EQ(cluster_.violations(), kNone);
}

// Plan: the target dies with moves open: they are void, deleted, and lead to nothing.
TEST_F(BalancerTest, MovesToADeadTargetAreDeleted) {
  cluster_.Behave("n3", core::CallbackKind::kPrepare, Behaviour::kHangs);
  cluster_.Start("n3");
  ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.store().MoveCount() == 2; }, seconds(10)));
  cluster_.Kill("n3");
  const Term term = cluster_.TermOf(ShardId{0});
  EXPECT_TRUE(cluster_.RunUntil([&] { return cluster_.Settled(); }, seconds(20)))
      << cluster_.WhyNotSettled();
  EXPECT_EQ(Moved(), 0u);
  EXPECT_EQ(cluster_.TermOf(ShardId{0}), term);
}

// Plan: the node that plans dies while moves are due: another takes the role and goes on.
TEST_F(BalancerTest, AnotherNodePlansWhenTheBalancerDies) {
  const NodeId first = Balancer();
  cluster_.Start("n3");
  cluster_.Run(seconds(1));
  cluster_.Kill(first);
  ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.Settled(); }, seconds(40)));
  EXPECT_NE(Balancer(), first);
  cluster_.Start(first);
  EXPECT_TRUE(cluster_.RunUntil([&] { return cluster_.Settled(); }, seconds(60)))
      << cluster_.WhyNotSettled();
  EXPECT_EQ(cluster_.LedBy(first), 4u);
  EXPECT_EQ(cluster_.violations(), kNone);
}

// Plan: an operator moves a shard, which unbalances the group. It stays for its cooldown and is
// moved back only after.
TEST_F(BalancerTest, AMovedShardRestsForItsCooldown) {
  const std::vector<ShardId> of_n1 = cluster_.ShardsOf("n1");
  for (const ShardId shard : of_n1) {
    cluster_.Transfer("n1", {.shard = shard, .to = "n2", .if_term = {}, .actor = {}});
  }
  cluster_.Run(seconds(1));
  ASSERT_EQ(cluster_.LedBy("n2"), 12u);
  cluster_.Run(seconds(6));
  for (const ShardId shard : of_n1) EXPECT_EQ(cluster_.LeaderOf(shard), "n2") << "rests";
  EXPECT_TRUE(cluster_.RunUntil([&] { return cluster_.Settled(); }, seconds(40)));
}

// Plan: paused, nothing is balanced, but vacancies are filled; resumed, balance goes on.
TEST_F(BalancerTest, APauseStopsBalanceAndNotSuccession) {
  cluster_.Policy("n1", "pause");
  cluster_.Start("n3");
  cluster_.Run(seconds(20));
  EXPECT_EQ(cluster_.LedBy("n3"), 0u);
  cluster_.Kill("n2");
  ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.LedBy("n1") + cluster_.LedBy("n3") == 12; },
                                seconds(12)));
  EXPECT_EQ(Moved(), 0u);
  cluster_.Start("n2");
  cluster_.Run(seconds(20));
  EXPECT_EQ(cluster_.LedBy("n2"), 0u);
  cluster_.Policy("n1", "pause", false);
  EXPECT_TRUE(cluster_.RunUntil([&] { return cluster_.Settled(); }, seconds(30)))
      << cluster_.WhyNotSettled();
}

// Plan: "apply" balances at once, even when paused, and its word is taken down when that is done.
TEST_F(BalancerTest, AnAskedForRebalanceStartsAtOnceAndEnds) {
  cluster_.Policy("n1", "pause");
  cluster_.Start("n3");
  cluster_.Run(seconds(1));
  const auto request = cluster_.Policy("n3", "rebalance");
  EXPECT_TRUE(cluster_.RunUntil([&] { return Balanced(); }, seconds(3)))
      << cluster_.WhyNotSettled();
  EXPECT_TRUE(cluster_.policies().at(request).ok());
  cluster_.Run(seconds(1));
  EXPECT_FALSE(cluster_.store().Has("policy/rebalance"));
}

// Plan: cancelled half-way, no further move is planned.
TEST_F(BalancerTest, ACancelledRebalanceStops) {
  cluster_.Policy("n1", "pause");
  cluster_.Behave("n3", core::CallbackKind::kPrepare, Behaviour::kHangs);
  cluster_.Start("n3");
  cluster_.Run(seconds(1));
  cluster_.Policy("n1", "rebalance");
  ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.store().MoveCount() == 2; }, seconds(3)));
  cluster_.Policy("n1", "rebalance", false);
  cluster_.Run(seconds(30));
  EXPECT_EQ(cluster_.LedBy("n3"), 0u);
  EXPECT_EQ(cluster_.store().MoveCount(), 0u);
}

// Plan: drained by policy a node hands all over, stays a member, and gets its share when undrained.
TEST_F(BalancerTest, APolicyDrainsANodeUntilItIsTakenBack) {
  cluster_.Policy("n1", "drain/n2");
  ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.LedBy("n1") == 12; }, seconds(10)));
  cluster_.Run(milliseconds(100));
  EXPECT_EQ(cluster_.TransitionsOf(Reason::kDrain).size(), 6u);
  EXPECT_TRUE(cluster_.store().Member("n2").Live());
  cluster_.Run(seconds(20));
  EXPECT_EQ(cluster_.LedBy("n2"), 0u);
  cluster_.Policy("n1", "drain/n2", false);
  EXPECT_TRUE(cluster_.RunUntil([&] { return cluster_.LedBy("n2") == 6 && cluster_.Settled(); },
                                seconds(30)));
  EXPECT_EQ(cluster_.violations(), kNone);
}

// Plan: a drain of nobody is refused by name.
TEST_F(BalancerTest, ADrainOfAnUnknownNodeIsRefused) {
  const auto request = cluster_.Policy("n1", "drain/n9");
  ASSERT_FALSE(cluster_.policies().at(request).ok());
  EXPECT_EQ(cluster_.policies().at(request).error().code, ErrorCode::kNotFound);
}

// Plan: the only node that takes shards is stopped beside one of weight 0: nobody gains them, so
// the balancer counts each loss, once.
TEST(BalancerAlone, CountsLossesWithoutASuccessor) {
  ClusterOptions options;
  options.nodes = 2;
  options.tune = [](core::CoreOptions& tuned) {
    if (tuned.self.node == "n2") tuned.self.weight = 0;
  };
  Cluster cluster(options);
  cluster.Start("n1");
  cluster.Start("n2");
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.LedBy("n1") == 12; }, seconds(20)));
  cluster.Kill("n1");
  cluster.Run(seconds(60));
  const std::vector<Transition> lost = cluster.TransitionsOf(Reason::kLeaseExpired);
  ASSERT_EQ(lost.size(), 12u);
  EXPECT_EQ(lost.front().from, "n1");
  EXPECT_EQ(lost.front().to, "");
  EXPECT_EQ(lost.front().term, cluster.TermOf(lost.front().shard));
  cluster.Start("n1");
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.LedBy("n1") == 12; }, seconds(60)));
  cluster.Drain("n1");
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.finished("n1"); }, seconds(60)));
  cluster.Run(seconds(10));
  EXPECT_EQ(cluster.TransitionsOf(Reason::kShutdown).size(), 12u);
  EXPECT_EQ(cluster.violations(), kNone);
}

}  // namespace
}  // namespace baton::test
