// Moves whose target can't prepare them: how soon the same move is planned again.
#include <gtest/gtest.h>

#include "core/cluster.h"

namespace baton::test {
namespace {

// n1 and n2 lead twelve shards. n3 joins, and can't prepare any shard until the test allows it. n4
// may take ten minutes to release a shard.
class FailedTargetsTest : public ::testing::Test {
 protected:
  static ClusterOptions Options() {
    ClusterOptions options;
    options.nodes = 4;
    options.tune = [](core::CoreOptions& tuned) {
      tuned.max_moves = 2;
      tuned.prepare_timeout = tuned.release_timeout = tuned.callback_timeout = seconds(8);
      if (tuned.self.node == "n4") tuned.release_timeout = std::chrono::minutes(10);
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
  void Limit(milliseconds rebalance_delay, milliseconds cooldown) {
    core::PolicyRequested ask;
    ask.request = 900;
    ask.name = {PolicyKind::kLimits};
    ask.limits = {.rebalance_delay = LimitsChange::DelayOrder{rebalance_delay},
                  .cooldown = LimitsChange::DelayOrder{cooldown}};
    cluster_.Deliver("n1", ask);
  }
  // How often n3 was asked to prepare each shard.
  std::map<ShardId, std::size_t> Asked() {
    std::map<ShardId, std::size_t> asked;
    for (const auto& [at, callback] : cluster_.Asked<core::RunCallback>("n3")) {
      if (callback.kind == core::CallbackKind::kPrepare) ++asked[callback.shard];
    }
    return asked;
  }
  std::size_t MostAsked() {
    std::size_t most = 0;
    for (const auto& [shard, times] : Asked()) most = std::max(most, times);
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

// Plan: `prepare` hangs on n3, and a shard's cooldown is over when the next two shards have failed.
// Each shard is tried once all the same, and then the order has ended.
TEST_F(FailedTargetsTest, ARebalanceTriesEachShardOnceHoweverLongThatTakes) {
  Prepares(Behaviour::kHangs);
  Order(PolicyKind::kPause);
  Limit(seconds(8), seconds(8));
  cluster_.Start("n3");
  cluster_.Run(seconds(1));
  Order(PolicyKind::kRebalance);
  cluster_.Run(seconds(1));
  EXPECT_TRUE(cluster_.RunUntil([&] { return !Applies(); }, seconds(60)));
  EXPECT_EQ(Asked().size(), 12u);
  EXPECT_EQ(MostAsked(), 1u);
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

// Plan: n3 prepares, but `releasing` hangs on n4, which may take far longer for it than the
// balancer allows. Each shard of n4 is tried once; then the order has ended.
TEST_F(FailedTargetsTest, ARebalanceEndsThoughALeaderDoesNotLetGo) {
  Prepares(Behaviour::kReturns);
  cluster_.Behave("n4", core::CallbackKind::kReleasing, Behaviour::kHangs);
  cluster_.Start("n4");
  ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.LedBy("n4") == 4 && cluster_.Settled(); },
                                seconds(60)));
  Order(PolicyKind::kPause);
  cluster_.Start("n3");
  cluster_.Run(seconds(1));
  Order(PolicyKind::kRebalance);
  cluster_.Run(seconds(1));
  EXPECT_TRUE(cluster_.RunUntil([&] { return !Applies(); }, seconds(150)));
  EXPECT_EQ(MostAsked(), 1u);
  EXPECT_EQ(cluster_.LedBy("n3"), 2u);
  EXPECT_EQ(cluster_.LedBy("n4"), 4u);
}

// Plan: a rebalance that nobody can prepare ends, but the balancer does not hear that its deletion
// of the order was carried out. Meanwhile n3 is repaired, and the operator orders a rebalance
// again. The second order is carried out, and not taken for the first one.
TEST_F(FailedTargetsTest, ARebalanceIsOrderedAgainBeforeTheEndOfTheLastOneIsKnown) {
  const NodeId balancer = cluster_.store().Balancer().leader;
  Order(PolicyKind::kPause);
  cluster_.Start("n3");
  cluster_.Run(seconds(1));
  Order(PolicyKind::kRebalance);
  cluster_.Run(milliseconds(20));
  cluster_.on_action = [&](const NodeId& node, const core::Action& action) {
    const auto* submit = std::get_if<core::SubmitWrite>(&action);
    if (node != balancer || submit == nullptr || !IsA<PolicyWrite>(*submit->write)) return;
    cluster_.LoseReplies(balancer);
  };
  ASSERT_TRUE(cluster_.RunUntil([&] { return !Applies(); }, seconds(10)));
  cluster_.on_action = nullptr;
  cluster_.LoseReplies(balancer, false);
  Prepares(Behaviour::kReturns);
  cluster_.Policy(balancer == "n1" ? "n2" : "n1", {PolicyKind::kRebalance});
  EXPECT_TRUE(cluster_.RunUntil([&] { return Balanced(); }, seconds(10)))
      << cluster_.WhyNotSettled();
}

// Plan: balance moves shards to n3, which can't prepare them. etcd refuses to delete these moves
// for three seconds. Each move has failed once all the same, so that n3 gets its share soon after
// that.
TEST_F(FailedTargetsTest, ARefusedDeletionIsNoFurtherFailure) {
  const NodeId balancer = cluster_.store().Balancer().leader;
  Limit(seconds(0), seconds(0));
  cluster_.DenyWrites(balancer, [](const Write& write) {
    return IsA<MoveBatch>(write) && !std::get<MoveBatch>(write).moves.front().move.present;
  });
  cluster_.Start("n3");
  cluster_.Run(seconds(3));
  std::size_t said = 0;
  for (const auto& [at, notice] : cluster_.Asked<core::Notice>(balancer)) {
    said += notice.text.find(" is void: ") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(said, 2u);
  cluster_.DenyWrites(balancer, nullptr);
  Prepares(Behaviour::kReturns);
  EXPECT_TRUE(cluster_.RunUntil([&] { return Balanced(); }, seconds(4)))
      << cluster_.WhyNotSettled();
}

// Plan: etcd goes away as soon as balance has planned moves to n3. When it is back, their time is
// over, but n3 never heard of them. So the same moves are planned at once, although the cooldown is
// long.
TEST_F(FailedTargetsTest, NoTargetHasFailedBecauseEtcdWasAway) {
  Limit(seconds(0), std::chrono::minutes(5));
  Prepares(Behaviour::kReturns);
  cluster_.Run(seconds(1));
  cluster_.Start("n3");
  cluster_.HoldWatch("n3");
  ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.store().MoveCount() == 2; }, seconds(5)));
  std::vector<ShardId> planned;
  for (std::uint32_t s = 0; s < 12; ++s) {
    if (cluster_.store().Move(ShardId{s})) planned.push_back(ShardId{s});
  }
  cluster_.Outage(true);
  cluster_.Run(seconds(20));
  cluster_.Outage(false);
  cluster_.Run(seconds(3));
  cluster_.HoldWatch("n3", false);
  EXPECT_TRUE(cluster_.RunUntil([&] { return Balanced(); }, seconds(10)))
      << cluster_.WhyNotSettled();
  for (const ShardId shard : planned) EXPECT_EQ(cluster_.LeaderOf(shard), "n3");
}

// Plan: n1 drains. n3, which is to take its shards, ends and comes back each second, as if it could
// not bear to prepare them. As soon as it counts as one that comes and goes, n2 gets the shards:
// that does not wait until the moves' time is over.
TEST_F(FailedTargetsTest, ADrainDoesNotWaitForATargetThatComesAndGoes) {
  Prepares(Behaviour::kHangs);
  Order(PolicyKind::kPause);
  cluster_.Start("n3");
  cluster_.Run(seconds(1));
  cluster_.Policy("n1", {PolicyKind::kDrain, "n1"});
  for (int i = 0; i < 3; ++i) {
    cluster_.Run(milliseconds(500));
    ASSERT_EQ(cluster_.store().MoveCount(), 2u);
    cluster_.Start("n3", true);
  }
  EXPECT_TRUE(cluster_.RunUntil([&] { return cluster_.LedBy("n2") == 12; }, seconds(2)));
}

// Plan: a balancer has an order to rebalance, and loses its session. The order ends. When that node
// is the balancer again, it does not withdraw what balance has planned since.
TEST_F(FailedTargetsTest, AnOrderToRebalanceIsForgottenWithTheSession) {
  const NodeId first = cluster_.store().Balancer().leader;
  const NodeId other = first == "n1" ? "n2" : "n1";
  Limit(seconds(0), seconds(0));
  Prepares(Behaviour::kHangs);
  cluster_.Run(seconds(1));
  cluster_.HoldWrites(first);
  cluster_.Policy(other, {PolicyKind::kRebalance});
  cluster_.Run(milliseconds(100));
  ASSERT_TRUE(Applies());
  cluster_.RevokeLeaseOf(first);
  cluster_.Run(milliseconds(100));
  cluster_.LetWrites(first);
  const auto leads = [&](const NodeId& node) { return cluster_.store().Balancer().leader == node; };
  ASSERT_TRUE(cluster_.RunUntil([&] { return leads(other) && !Applies() && cluster_.Settled(); },
                                seconds(20)));
  cluster_.Start("n3");
  const auto is_from_first = [&](std::uint32_t s) {
    const auto move = cluster_.store().Move(ShardId{s});
    return move && move->from == first;
  };
  const auto planned = [&] {
    std::size_t count = 0;
    for (std::uint32_t s = 0; s < 12; ++s) count += is_from_first(s) ? 1 : 0;
    return count;
  };
  ASSERT_TRUE(cluster_.RunUntil([&] { return planned() > 0; }, seconds(10)));
  cluster_.RevokeLeaseOf(other);
  ASSERT_TRUE(cluster_.RunUntil([&] { return leads(first); }, seconds(2)));
  cluster_.Run(milliseconds(100));
  for (const auto& [at, batch] : cluster_.Sent<MoveBatch>(first)) {
    for (const MoveWrite& write : batch.moves)
      EXPECT_TRUE(write.move.present || write.move.from == other);
  }
}

// Plan: the group's limits let balance begin at once, and let a shard move at any time. Still no
// shard is planned again and again, and n3 gets its share soon after its repair.
TEST_F(FailedTargetsTest, WithoutACooldownAShardRestsLongerAndLonger) {
  Limit(seconds(0), seconds(0));
  cluster_.Run(seconds(1));
  cluster_.Start("n3");
  cluster_.Run(seconds(20));
  EXPECT_GE(MostAsked(), 3u);
  EXPECT_LE(MostAsked(), 6u);
  Prepares(Behaviour::kReturns);
  EXPECT_TRUE(cluster_.RunUntil([&] { return Balanced(); }, seconds(20)))
      << cluster_.WhyNotSettled();
}

// Plan: the move of a shard waits for a node that is gone, and the balancer can't withdraw it.
// After 9 of the 12 s that a move has, another node is ordered to take the shard. That move has its
// own 12 s: `prepare` hangs there, and it is the target that gives up, after 8 s.
TEST_F(FailedTargetsTest, AMoveToAnotherTargetHasItsOwnTime) {
  Prepares(Behaviour::kHangs);
  cluster_.Start("n3");
  cluster_.Run(seconds(1));
  Order(PolicyKind::kPause);
  const NodeId balancer = cluster_.store().Balancer().leader;
  cluster_.DenyWrites(balancer, [](const Write& write) { return IsA<MoveBatch>(write); });
  MoveFact move;
  move.shard = cluster_.ShardsOf("n1").front();
  move.present = true;
  move.ends = cluster_.TermOf(move.shard);
  move.from = "n1";
  move.to = "n4";
  move.reason = Reason::kOperator;
  cluster_.store().Put(move);
  cluster_.HoldWatch("n1", false);  // the watches hear of it
  cluster_.Run(seconds(9));
  move.to = "n3";
  cluster_.store().Put(move);
  cluster_.HoldWatch("n1", false);
  cluster_.DenyWrites(balancer, {});
  cluster_.Run(seconds(7));
  const auto left = cluster_.store().Move(move.shard);
  ASSERT_TRUE(left);
  EXPECT_EQ(left->to, "n3");
  EXPECT_EQ(cluster_.core(balancer).balancer().counters().timed_out, 0u);
}

}  // namespace
}  // namespace baton::test
