// The limits that an operator orders for the group, instead of each node's own options: what they
// are, that the balancer goes by them from its next decision on, and how they are written.
#include "core/move_limits.h"

#include <gtest/gtest.h>

#include "core/cluster.h"

namespace baton::test {
namespace {

using Order = LimitsChange::DelayOrder;

class MoveLimitsTest : public ::testing::Test {
 protected:
  // n1 and n2 lead six shards each; n3 is started by the tests. The nodes' own limits: 4 s, 10 s,
  // and two moves.
  static ClusterOptions Options() {
    ClusterOptions options;
    options.tune = [](core::CoreOptions& tuned) {
      tuned.rebalance_delay = seconds(4);
      tuned.cooldown = seconds(10);
      tuned.max_moves = 2;
      tuned.prepare_timeout = tuned.release_timeout = tuned.callback_timeout = seconds(60);
    };
    return options;
  }
  void SetUp() override {
    cluster_.Start("n1");
    cluster_.Start("n2");
    ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.Settled(); }, seconds(20)));
  }
  void TearDown() override { EXPECT_EQ(cluster_.violations(), kNone); }

  core::PolicyRequested Asking(core::RequestId request, const LimitsChange& limits) {
    core::PolicyRequested ask;
    ask.request = request;
    ask.name = {PolicyKind::kLimits};
    ask.actor = "alice";
    ask.limits = limits;
    return ask;
  }
  // Ordered at n1 and known to all nodes.
  void Set(const LimitsChange& limits) {
    cluster_.Deliver("n1", Asking(900, limits));
    cluster_.Run(milliseconds(100));
  }
  PolicyFact Stored() { return std::get<PolicyFact>(cluster_.store().Get("policy/limits")); }
  bool Balanced() { return cluster_.LedBy("n3") == 4; }
  void ExpectNothingMovesFor(Duration time) {
    cluster_.Run(time);
    EXPECT_EQ(cluster_.store().MoveCount(), 0u);
    EXPECT_EQ(cluster_.LedBy("n3"), 0u);
  }

  Cluster cluster_{Options()};
};

// Plan: every limit alone, and all; what is not ordered is the node's own. 0 is a delay, and no
// number.
TEST_F(MoveLimitsTest, AreTheGroupsWhereItHasSome) {
  const core::CoreOptions& own = cluster_.core("n1").options();
  const auto now = [&] { return core::MoveLimitsOf(cluster_.core("n1").view(), own); };
  const auto expect = [&](std::size_t moves, Duration delay, Duration cooldown) {
    EXPECT_EQ(now().max_moves, moves);
    EXPECT_EQ(now().rebalance_delay, delay);
    EXPECT_EQ(now().cooldown, cooldown);
  };
  expect(2, seconds(4), seconds(10));
  Set({.max_moves = 7});
  expect(7, seconds(4), seconds(10));
  Set({.rebalance_delay = Order{milliseconds(0)}});
  expect(7, seconds(0), seconds(10));
  Set({.cooldown = Order{std::chrono::hours(24)}});
  expect(7, seconds(0), std::chrono::hours(24));
  Set({.max_moves = 0, .rebalance_delay = Order{}});
  expect(2, seconds(4), std::chrono::hours(24));
  EXPECT_TRUE(Stored().present);
  Set({.cooldown = Order{}});
  expect(2, seconds(4), seconds(10));
  EXPECT_FALSE(cluster_.store().Has("policy/limits")) << "nothing is ordered any more";
}

// Plan: the group's delay is five times the nodes' own. Nothing moves in it, and then n3 gets its
// share.
TEST_F(MoveLimitsTest, AnOrderedDelayIsKept) {
  Set({.rebalance_delay = Order{seconds(20)}});
  cluster_.Start("n3");
  ExpectNothingMovesFor(milliseconds(19'900));
  EXPECT_TRUE(cluster_.RunUntil([&] { return Balanced(); }, seconds(5)));
}

// Plan: n3 waits for an hour. The order changes to no delay, and n3 gets its share at once.
TEST_F(MoveLimitsTest, AShorterDelayCountsAtOnce) {
  Set({.rebalance_delay = Order{std::chrono::hours(1)}});
  cluster_.Start("n3");
  ExpectNothingMovesFor(seconds(30));
  Set({.rebalance_delay = Order{milliseconds(0)}});
  EXPECT_TRUE(cluster_.RunUntil([&] { return Balanced(); }, seconds(2)));
}

// Plan: half of the nodes' own delay is over when a longer one is ordered, and that one is taken
// back later: then the own one is over.
TEST_F(MoveLimitsTest, ALongerDelayCountsWhileOneRuns) {
  cluster_.Start("n3");
  ExpectNothingMovesFor(seconds(2));
  Set({.rebalance_delay = Order{std::chrono::hours(1)}});
  ExpectNothingMovesFor(seconds(30));
  Set({.rebalance_delay = Order{}});
  EXPECT_TRUE(cluster_.RunUntil([&] { return Balanced(); }, seconds(2)));
}

// Plan: n3 prepares nothing. One move, four, and none more when the own limit of two counts again.
TEST_F(MoveLimitsTest, TheNumberOfMovesFollowsTheOrder) {
  Set({.max_moves = 1, .rebalance_delay = Order{milliseconds(0)}});
  cluster_.Start("n3");
  cluster_.Behave("n3", core::CallbackKind::kPrepare, Behaviour::kHangs);
  cluster_.Run(seconds(3));
  EXPECT_EQ(cluster_.store().MoveCount(), 1u);
  Set({.max_moves = 3});
  cluster_.Run(seconds(1));
  EXPECT_EQ(cluster_.store().MoveCount(), 3u);
  Set({.max_moves = 0});
  cluster_.Run(seconds(5));
  EXPECT_EQ(cluster_.store().MoveCount(), 3u) << "those under way go on, and no other begins";
}

// Plan: an operator moves all shards to n2. With a longer cooldown, ordered after the moves and
// after the nodes' own cooldown, none of those that rest moves back; without any, they do at once.
TEST_F(MoveLimitsTest, ACooldownCountsForShardsThatHaveMovedBefore) {
  const std::vector<ShardId> of_n1 = cluster_.ShardsOf("n1");
  cluster_.Policy("n1", {PolicyKind::kPause});
  for (const ShardId shard : of_n1) {
    cluster_.Transfer("n1", {.shard = shard, .to = "n2", .if_term = {}, .actor = {}});
  }
  cluster_.Run(seconds(15));
  ASSERT_EQ(cluster_.LedBy("n2"), 12u);
  Set({.cooldown = Order{std::chrono::hours(1)}});
  const std::size_t before = cluster_.TransitionsOf(Reason::kRebalance).size();
  cluster_.Policy("n1", {PolicyKind::kPause}, false);
  cluster_.Run(seconds(60));
  for (const ShardId shard : of_n1) EXPECT_EQ(cluster_.LeaderOf(shard), "n2") << "rests";
  Set({.max_moves = 12, .cooldown = Order{milliseconds(0)}});
  cluster_.RunUntil([&] { return cluster_.Settled(); }, seconds(5));
  EXPECT_TRUE(cluster_.Settled()) << cluster_.WhyNotSettled();
  EXPECT_GT(cluster_.TransitionsOf(Reason::kRebalance).size(), before);
}

// Plan: the balancer stops. The next one goes by the same limits.
TEST_F(MoveLimitsTest, OutliveTheBalancer) {
  Set({.rebalance_delay = Order{std::chrono::hours(1)}});
  const NodeId first = cluster_.store().Balancer().leader;
  cluster_.Kill(first);
  ASSERT_TRUE(
      cluster_.RunUntil([&] { return cluster_.store().Balancer().leader != first; }, seconds(30)));
  cluster_.Start("n3");
  ExpectNothingMovesFor(seconds(30));
}

// Plan: n1's order of a delay is on its way when n2's of a cooldown is written. n1's is refused and
// sent again: both stand, and each is answered.
TEST_F(MoveLimitsTest, TwoOrdersOfDifferentLimitsBothStand) {
  cluster_.HoldWrites("n1");
  const std::size_t before = cluster_.Asked<core::SubmitWrite>("n1").size();
  cluster_.Deliver("n1", Asking(901, {.rebalance_delay = Order{seconds(7)}}));
  cluster_.Deliver("n2", Asking(902, {.cooldown = Order{seconds(9)}}));
  cluster_.Run(milliseconds(100));
  const core::SubmitWrite held = cluster_.Asked<core::SubmitWrite>("n1").at(before).second;
  const WriteResult refused = cluster_.store().Execute(*held.write);
  ASSERT_EQ(refused.outcome, Outcome::kRefused);
  cluster_.Deliver("n1", core::WriteAnswered{held.operation, refused});
  cluster_.PassNewWrites("n1");
  cluster_.LetWrites("n1");
  cluster_.Run(seconds(5));
  EXPECT_EQ(Stored().rebalance_delay, seconds(7));
  EXPECT_EQ(Stored().cooldown, seconds(9));
  EXPECT_EQ(Stored().max_moves, 0u);
}

// Plan: a later version has ordered something that this one does not know. An order keeps it, and
// one that takes everything else back does not delete it.
TEST_F(MoveLimitsTest, KeepWhatALaterVersionOrdered) {
  cluster_.store().Put(PolicyFact{
      .name = {PolicyKind::kLimits}, .present = true, .max_moves = 3, .unknown_fields = "later"});
  cluster_.Run(milliseconds(100));
  Set({.cooldown = Order{seconds(9)}});
  EXPECT_EQ(Stored().max_moves, 3u);
  EXPECT_EQ(Stored().unknown_fields, "later");
  Set({.max_moves = 0, .cooldown = Order{}});
  EXPECT_TRUE(Stored().present);
  EXPECT_EQ(Stored().unknown_fields, "later");
}

}  // namespace
}  // namespace baton::test
