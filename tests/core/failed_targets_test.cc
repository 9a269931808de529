// Moves whose target can't prepare them: how soon the same move is planned again.
#include <gtest/gtest.h>

#include "core/cluster.h"

namespace baton::test {
namespace {

// n1 and n2 lead twelve shards. n3 joins, and can't prepare any shard until the test allows it.
class FailedTargetsTest : public ::testing::Test {
 protected:
  static ClusterOptions Options() {
    ClusterOptions options;
    options.tune = [](core::CoreOptions& tuned) {
      tuned.max_moves = 2;
      tuned.prepare_timeout = tuned.release_timeout = tuned.callback_timeout = seconds(4);
    };
    return options;
  }
  void SetUp() override {
    cluster_.Start("n1");
    cluster_.Start("n2");
    ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.Settled(); }, seconds(20)));
    Prepares(Behaviour::kThrows);
  }
  void TearDown() override { EXPECT_EQ(cluster_.violations(), kNone); }
  void Prepares(Behaviour behaviour) {
    cluster_.Behave("n3", core::CallbackKind::kPrepare, behaviour);
  }
  void Order(PolicyKind kind) { cluster_.Policy("n1", {kind}); }
  // How often n3 was asked to prepare the shard that it was asked for most often.
  std::size_t MostAsked() {
    std::map<ShardId, std::size_t> asked;
    std::size_t most = 0;
    for (const auto& [at, callback] : cluster_.Asked<core::RunCallback>("n3")) {
      if (callback.kind != core::CallbackKind::kPrepare) continue;
      most = std::max(most, ++asked[callback.shard]);
    }
    return most;
  }
  bool Applies() { return cluster_.store().Has("policy/rebalance"); }
  bool Balanced() { return cluster_.LedBy("n3") == 4 && cluster_.Settled(); }
  Cluster cluster_{Options()};
};

// Plan: an operator orders a rebalance to n3. Each shard is tried once; then the order has ended,
// because there is nothing else to try.
TEST_F(FailedTargetsTest, ARebalanceThatNobodyCanPrepareEnds) {
  Order(PolicyKind::kPause);
  cluster_.Start("n3");
  cluster_.Run(seconds(1));
  Order(PolicyKind::kRebalance);
  cluster_.Run(seconds(10));
  EXPECT_EQ(MostAsked(), 1u);
  EXPECT_FALSE(Applies());
  EXPECT_EQ(cluster_.store().MoveCount(), 0u);
}

// Plan: the same; then n3 is repaired, and the operator orders the rebalance again. That waits for
// no shard's rest.
TEST_F(FailedTargetsTest, ARebalanceThatIsOrderedAgainTriesAgainAtOnce) {
  Order(PolicyKind::kPause);
  cluster_.Start("n3");
  cluster_.Run(seconds(1));
  Order(PolicyKind::kRebalance);
  cluster_.Run(seconds(2));
  ASSERT_FALSE(Applies());
  Prepares(Behaviour::kReturns);
  Order(PolicyKind::kRebalance);
  EXPECT_TRUE(cluster_.RunUntil([&] { return Balanced(); }, seconds(3)))
      << cluster_.WhyNotSettled();
  cluster_.Run(seconds(1));
  EXPECT_FALSE(Applies());
}

// Plan: the group's limits let balance begin at once, and let a shard move at any time. Still no
// shard is planned again and again, and n3 gets its share soon after its repair.
TEST_F(FailedTargetsTest, WithoutACooldownAShardRestsLongerAndLonger) {
  const LimitsChange::DelayOrder none{milliseconds(0)};
  core::PolicyRequested ask;
  ask.request = 900;
  ask.name = {PolicyKind::kLimits};
  ask.limits = {.rebalance_delay = none, .cooldown = none};
  cluster_.Deliver("n1", ask);
  cluster_.Run(seconds(1));
  cluster_.Start("n3");
  cluster_.Run(seconds(20));
  EXPECT_GE(MostAsked(), 3u);
  EXPECT_LE(MostAsked(), 6u);
  Prepares(Behaviour::kReturns);
  EXPECT_TRUE(cluster_.RunUntil([&] { return Balanced(); }, seconds(20)))
      << cluster_.WhyNotSettled();
}

}  // namespace
}  // namespace baton::test
