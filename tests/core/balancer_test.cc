// Balance in a small cluster: who plans, when it starts, and how much moves at once.
#include "core/balancer.h"

#include <gtest/gtest.h>

#include "core/cluster.h"

namespace baton::test {
namespace {

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
  // Each shard's move in etcd: "planned prepared ", or "none ".
  std::string PhasesOf(const std::vector<ShardId>& shards) {
    std::string result;
    for (const ShardId shard : shards) {
      const auto move = cluster_.store().Move(shard);
      result += std::string(move ? ToString(move->phase) : "none") + " ";
    }
    return result;
  }
  bool AnyPlanned() {
    for (std::uint32_t s = 0; s < 12; ++s) {
      if (PhasesOf({ShardId{s}}) == "planned ") return true;
    }
    return false;
  }
  bool Balanced() { return cluster_.LedBy("n3") == 4 && cluster_.Settled(); }
  Cluster cluster_{Options()};
};

// Plan: a third node joins. Nothing moves during the delay; then exactly four shards do, and no
// more.
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

// Plan: the record of a shard is damaged, and its leader, which is drained, can't replace it for a
// while. Nobody plans a move of that shard: it would be void at once, and planned again at once.
TEST_F(BalancerTest, AShardWithADamagedRecordIsNotMoved) {
  const NodeId leader = Balancer() == "n1" ? "n2" : "n1";
  const ShardId shard = cluster_.ShardsOf(leader).front();
  cluster_.HoldWrites(leader);
  cluster_.DamageRecord(shard);
  cluster_.Policy(Balancer(), {PolicyKind::kDrain, leader});
  cluster_.Run(seconds(2));
  std::size_t others = 0;
  for (const auto& [at, batch] : cluster_.Sent<MoveBatch>(Balancer())) {
    for (const auto& move : batch.moves) {
      EXPECT_NE(move.move.shard, shard);
      ++others;
    }
  }
  EXPECT_GT(others, 0u);
  cluster_.LetWrites(leader);
  EXPECT_TRUE(cluster_.RunUntil([&] { return cluster_.LedBy(leader) == 0; }, seconds(20)));
  EXPECT_EQ(cluster_.violations(), kNone);
}

// Plan: nobody here can read the record of one shard, so that it stays without a leader. A drain of
// six shards, two at a time, is planned as fast as without that: each move as soon as one ends.
TEST_F(BalancerTest, AVacancyThatNobodyCanFillDelaysNoDrain) {
  cluster_.DamageRecord(cluster_.ShardsOf("n1").front(), Readability::kNewerSchema);
  cluster_.Run(seconds(1));
  cluster_.Policy("n1", {PolicyKind::kDrain, "n2"});
  EXPECT_TRUE(cluster_.RunUntil([&] { return cluster_.LedBy("n2") == 0; }, milliseconds(500)))
      << cluster_.LedBy("n2") << " shards are left";
  EXPECT_EQ(cluster_.violations(), kNone);
}

// Plan: shard 0 may be led only by n3, which is gone, so nobody claims it. A drain of 200 shards,
// eight at a time, takes as long as without that.
TEST(Balancer, AVacancyThatTheRulesKeepDelaysNoDrain) {
  ClusterOptions options;
  options.shards = 200;
  options.tune = [](core::CoreOptions& tuned) { tuned.max_moves = 8; };
  Cluster cluster(std::move(options));
  ASSERT_TRUE(cluster.Up());
  ConfigFact config = std::get<ConfigFact>(cluster.store().Get("config"));
  config.schema = kPlacementSchema;
  config.placement = {{.shards = {{0, 0}}, .require = {{"node", {"n3"}}}, .prefer = {}}};
  cluster.store().Put(config);
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.LeaderOf(ShardId{0}) == "n3"; }, seconds(20)));
  cluster.Kill("n3");
  const auto led = [&] { return cluster.LedBy("n1") + cluster.LedBy("n2"); };
  ASSERT_TRUE(cluster.RunUntil([&] { return led() == 199; }, seconds(30)));
  cluster.Run(seconds(5));
  ASSERT_EQ(cluster.LeaderOf(ShardId{0}), "");
  cluster.Policy("n1", {PolicyKind::kDrain, "n2"});
  EXPECT_TRUE(cluster.RunUntil([&] { return cluster.LedBy("n2") == 0; }, seconds(1)))
      << cluster.LedBy("n2") << " shards are left";
  EXPECT_EQ(cluster.violations(), kNone);
}

// Plan: preparing never ends; never more than two moves are open.
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

// Plan: the target dies with moves open: they are void, are deleted, and have no effect.
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
  cluster_.Policy("n1", {PolicyKind::kPause});
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
  cluster_.Policy("n1", {PolicyKind::kPause}, false);
  EXPECT_TRUE(cluster_.RunUntil([&] { return cluster_.Settled(); }, seconds(30)))
      << cluster_.WhyNotSettled();
}

// Plan: "apply" balances at once, even when paused; the policy is deleted when that is done.
TEST_F(BalancerTest, AnAskedForRebalanceStartsAtOnceAndEnds) {
  cluster_.Policy("n1", {PolicyKind::kPause});
  cluster_.Start("n3");
  cluster_.Run(seconds(1));
  const auto request = cluster_.Policy("n3", {PolicyKind::kRebalance});
  EXPECT_TRUE(cluster_.RunUntil([&] { return Balanced(); }, seconds(3)))
      << cluster_.WhyNotSettled();
  EXPECT_TRUE(cluster_.policies().at(request).ok());
  cluster_.Run(seconds(1));
  EXPECT_FALSE(cluster_.store().Has("policy/rebalance"));
  const std::vector<Transition> moved = cluster_.TransitionsOf(Reason::kRebalance);
  EXPECT_EQ(moved.size(), 4u);
  for (const Transition& transition : moved) EXPECT_EQ(transition.actor, "alice");
}

// Plan: cancelled half-way, no further move is planned.
TEST_F(BalancerTest, ACancelledRebalanceStops) {
  cluster_.Policy("n1", {PolicyKind::kPause});
  cluster_.Behave("n3", core::CallbackKind::kPrepare, Behaviour::kHangs);
  cluster_.Start("n3");
  cluster_.Run(seconds(1));
  cluster_.Policy("n1", {PolicyKind::kRebalance});
  ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.store().MoveCount() == 2; }, seconds(3)));
  cluster_.Policy("n1", {PolicyKind::kRebalance}, false);
  cluster_.Run(seconds(30));
  EXPECT_EQ(cluster_.LedBy("n3"), 0u);
  EXPECT_EQ(cluster_.store().MoveCount(), 0u);
}

// Plan: "apply" has two moves in flight, one planned and one prepared, when it is cancelled. The
// planned one is withdrawn at once, the prepared one is carried out, and the rest of the imbalance
// waits its whole delay again.
TEST_F(BalancerTest, ACancelledRebalanceWithdrawsWhatNobodyHasPrepared) {
  cluster_.Start("n3");
  cluster_.Run(milliseconds(3000));
  const core::View& view = cluster_.core(Balancer()).view();
  const std::vector<MoveFact> plan = core::PlanAll(
      core::AssignmentFrom(view, Duration{0}, cluster_.now()),
      {.rules = view.rules(),
       .term_of = [&](ShardId shard) { return view.record(shard).term(); },
       .member_of = [&](const NodeId& node) -> const MemberFact& { return *view.member(node); }});
  ASSERT_EQ(plan.size(), 4u);
  const ShardId planned = plan[0].shard;
  const ShardId prepared = plan[1].shard;
  cluster_.Behave("n3", core::CallbackKind::kPrepare, planned, Behaviour::kHangs);
  cluster_.Behave(plan[1].from, core::CallbackKind::kReleasing, prepared, Behaviour::kHangs);
  cluster_.Policy("n1", {PolicyKind::kRebalance});
  ASSERT_TRUE(cluster_.RunUntil(
      [&] {
        return PhasesOf({planned, prepared}) == "planned prepared ";
      },
      milliseconds(500)));
  cluster_.Policy("n1", {PolicyKind::kRebalance}, false);
  const TimePoint cancelled = cluster_.now();
  cluster_.Run(milliseconds(50));
  EXPECT_EQ(PhasesOf({planned, prepared}), "none prepared ");
  EXPECT_FALSE(cluster_.RunUntil([&] { return AnyPlanned(); }, milliseconds(3900)));
  EXPECT_TRUE(cluster_.RunUntil([&] { return cluster_.Leads("n3", prepared); }, milliseconds(500)));
  EXPECT_TRUE(cluster_.RunUntil([&] { return AnyPlanned(); }, milliseconds(500)));
  EXPECT_GE(cluster_.now() - cancelled, seconds(4));
  EXPECT_EQ(cluster_.violations(), kNone);
}

// Plan: "apply" plans moves, is cancelled, and the moves are withdrawn. Then copies of the plans
// arrive that were held up: they bring nothing back.
TEST_F(BalancerTest, ALatePlanBringsNoCancelledMoveBack) {
  cluster_.Behave("n3", core::CallbackKind::kPrepare, Behaviour::kHangs);
  cluster_.Start("n3");
  cluster_.Run(seconds(1));
  cluster_.Policy("n1", {PolicyKind::kRebalance});
  ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.store().MoveCount() == 2; }, seconds(1)));
  const auto plans = cluster_.Sent<MoveBatch>(Balancer());
  ASSERT_FALSE(plans.empty());
  cluster_.Policy("n1", {PolicyKind::kRebalance}, false);
  cluster_.Run(milliseconds(300));
  ASSERT_EQ(cluster_.store().MoveCount(), 0u);
  for (const auto& [at, plan] : plans) {
    EXPECT_EQ(cluster_.store().Execute(plan).outcome, Outcome::kRefused);
  }
  EXPECT_EQ(cluster_.store().MoveCount(), 0u);
}

// Plan: more moves are planned than one write can withdraw. After the cancellation all are
// withdrawn.
TEST(Balancer, ACancelledRebalanceWithdrawsMoreThanOneBatch) {
  ClusterOptions options;
  options.shards = 400;
  options.tune = [](core::CoreOptions& tuned) {
    tuned.max_moves = 400;
    tuned.rebalance_delay = seconds(60);
  };
  Cluster cluster(std::move(options));
  cluster.Start("n1");
  cluster.Start("n2");
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.Settled(); }, seconds(20)));
  cluster.Behave("n3", core::CallbackKind::kPrepare, Behaviour::kHangs);
  cluster.Start("n3");
  cluster.Run(seconds(1));
  cluster.Policy("n1", {PolicyKind::kRebalance});
  cluster.Run(milliseconds(500));
  ASSERT_EQ(cluster.store().MoveCount(), 133u);
  cluster.Policy("n1", {PolicyKind::kRebalance}, false);
  cluster.Run(milliseconds(500));
  EXPECT_EQ(cluster.store().MoveCount(), 0u);
  EXPECT_EQ(cluster.violations(), kNone);
}

// Plan: etcd denies the withdrawal at first: it is tried again, long before a move times out.
TEST_F(BalancerTest, ADeniedCancellationIsTriedAgain) {
  cluster_.Behave("n3", core::CallbackKind::kPrepare, Behaviour::kHangs);
  cluster_.Start("n3");
  cluster_.Run(seconds(1));
  cluster_.Policy("n1", {PolicyKind::kRebalance});
  ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.store().MoveCount() == 2; }, seconds(1)));
  cluster_.DenyWrites(Balancer(), [](const Write& write) { return IsA<MoveBatch>(write); });
  cluster_.Policy("n1", {PolicyKind::kRebalance}, false);
  cluster_.Run(milliseconds(300));
  EXPECT_EQ(cluster_.store().MoveCount(), 2u);
  cluster_.DenyWrites(Balancer(), {});
  cluster_.Run(milliseconds(300));
  EXPECT_EQ(cluster_.store().MoveCount(), 0u);
  EXPECT_EQ(cluster_.violations(), kNone);
}

// Plan: etcd denies the balancer its moves. In a second they are sent five times, not as fast as
// answers come; allowed again, the newcomer gets its share.
TEST(Balancer, DeniedMovesAreTriedAgainAfterAPause) {
  ClusterOptions options;
  options.latency_most = options.latency_least;
  Cluster cluster(std::move(options));
  cluster.Start("n1");
  cluster.Start("n2");
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.Settled(); }, seconds(20)));
  const NodeId balancer = cluster.store().Balancer().leader;
  cluster.DenyWrites(balancer, [](const Write& write) { return IsA<MoveBatch>(write); });
  cluster.Start("n3");
  ASSERT_TRUE(
      cluster.RunUntil([&] { return !cluster.Sent<MoveBatch>(balancer).empty(); }, seconds(10)));
  cluster.Run(seconds(1));
  EXPECT_EQ(cluster.Sent<MoveBatch>(balancer).size(), 5u);
  EXPECT_EQ(cluster.store().MoveCount(), 0u);
  cluster.DenyWrites(balancer, {});
  EXPECT_TRUE(cluster.RunUntil([&] { return cluster.LedBy("n3") == 4; }, seconds(2)));
  EXPECT_EQ(cluster.violations(), kNone);
}

// Plan: n1 is drained, and some of its shards are moving to n3, which does not finish preparing. n3
// begins to leave: long before the moves time out, these shards go to n2, and n1 is empty.
TEST_F(BalancerTest, AMoveToALeavingNodeIsWithdrawnAndFindsAnotherTarget) {
  cluster_.store().Put(PolicyFact{.name = {PolicyKind::kLimits},
                                  .revision = {},
                                  .present = true,
                                  .actor = "",
                                  .max_moves = 64});
  cluster_.Start("n3");
  ASSERT_TRUE(cluster_.RunUntil([&] { return Balanced(); }, seconds(10)));
  const std::vector<ShardId> of_n1 = cluster_.ShardsOf("n1");
  cluster_.Behave("n3", core::CallbackKind::kPrepare, Behaviour::kHangs);
  cluster_.Behave("n3", core::CallbackKind::kReleasing, Behaviour::kHangs);  // it stays a while
  cluster_.Policy("n2", {PolicyKind::kDrain, "n1"});
  cluster_.Run(milliseconds(200));
  ASSERT_EQ(cluster_.LedBy("n1"), 2u) << "the others wait for n3";
  cluster_.Drain("n3");
  EXPECT_TRUE(cluster_.RunUntil([&] { return cluster_.LedBy("n2") == 8; }, milliseconds(500)));
  for (const ShardId shard : of_n1) EXPECT_EQ(cluster_.LeaderOf(shard), "n2");
  EXPECT_EQ(cluster_.LedBy("n3"), 4u);
  EXPECT_EQ(cluster_.core(Balancer()).balancer().counters().voided, 2u);
  EXPECT_EQ(cluster_.core(Balancer()).balancer().counters().timed_out, 0u);
  EXPECT_EQ(cluster_.violations(), kNone);
}

// Plan: an operator drains a node: it hands all shards over, stays a member, and gets its share
// again when the drain is undone.
TEST_F(BalancerTest, APolicyDrainsANodeUntilItIsTakenBack) {
  cluster_.Policy("n1", {PolicyKind::kDrain, "n2"});
  ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.LedBy("n1") == 12; }, seconds(10)));
  cluster_.Run(milliseconds(100));
  EXPECT_EQ(cluster_.TransitionsOf(Reason::kDrain).size(), 6u);
  EXPECT_TRUE(cluster_.store().Member("n2").Live());
  cluster_.Run(seconds(20));
  EXPECT_EQ(cluster_.LedBy("n2"), 0u);
  cluster_.Policy("n1", {PolicyKind::kDrain, "n2"}, false);
  EXPECT_TRUE(cluster_.RunUntil([&] { return cluster_.LedBy("n2") == 6 && cluster_.Settled(); },
                                seconds(30)));
  EXPECT_EQ(cluster_.violations(), kNone);
}

// Plan: a drain of an unknown node is refused; the message names the node.
TEST_F(BalancerTest, ADrainOfAnUnknownNodeIsRefused) {
  const auto request = cluster_.Policy("n1", {PolicyKind::kDrain, "n9"});
  ASSERT_FALSE(cluster_.policies().at(request).ok());
  EXPECT_EQ(cluster_.policies().at(request).error().code, ErrorCode::kNotFound);
}

// Plan: n9 was never there: its drain can't be ended. n2 is drained and leaves: its drain stands,
// and can be ended while it is away, but only once.
TEST_F(BalancerTest, OnlyADrainThatStandsIsEndedForANodeThatIsAway) {
  const PolicyName n2{PolicyKind::kDrain, "n2"};
  const auto unknown = cluster_.Policy("n1", {PolicyKind::kDrain, "n9"}, false);
  ASSERT_FALSE(cluster_.policies().at(unknown).ok());
  EXPECT_EQ(cluster_.policies().at(unknown).error().code, ErrorCode::kNotFound);
  cluster_.Policy("n1", n2);
  cluster_.Run(seconds(1));
  cluster_.Kill("n2");
  ASSERT_TRUE(
      cluster_.RunUntil([&] { return !cluster_.store().Member("n2").Live(); }, seconds(30)));
  cluster_.Run(seconds(1));
  const auto ended = cluster_.Policy("n1", n2, false);
  cluster_.Run(seconds(1));
  EXPECT_TRUE(cluster_.policies().at(ended).ok());
  EXPECT_FALSE(cluster_.store().Has("policy/drain/n2"));
  const auto again = cluster_.Policy("n1", n2, false);
  ASSERT_FALSE(cluster_.policies().at(again).ok());
  EXPECT_EQ(cluster_.policies().at(again).error().code, ErrorCode::kNotFound);
}

// n1 takes all shards; n2 and n3 have weight 0, and one of them may become balancer.
class OrphansTest : public ::testing::Test {
 protected:
  static ClusterOptions Options() {
    ClusterOptions options;
    options.tune = [](core::CoreOptions& tuned) {
      if (tuned.self.node != "n1") tuned.self.weight = 0;
    };
    return options;
  }
  bool AllLed() { return cluster_.LedBy("n1") == 12; }
  void SetUp() override {
    cluster_.Start("n2");
    cluster_.Run(seconds(5));
    cluster_.Start("n1");
    ASSERT_TRUE(cluster_.RunUntil([&] { return AllLed(); }, seconds(20)));
    for (std::uint32_t s = 0; s < 12; ++s) terms_.push_back(cluster_.TermOf(ShardId{s}));
    EXPECT_EQ(Orphans(), 0u) << "no shard had a leader that could be lost";
  }
  void TearDown() override { EXPECT_EQ(cluster_.violations(), kNone); }
  std::size_t Orphans() {
    std::size_t count = 0;
    for (const auto& [node, transition] : cluster_.transitions()) {
      if (transition.reason == Reason::kSuspended || !transition.to.empty()) continue;
      EXPECT_EQ(transition.from, "n1");
      EXPECT_EQ(transition.term, terms_[transition.shard.value]);
      ++count;
    }
    return count;
  }
  Cluster cluster_{Options()};
  std::vector<Term> terms_;
};

// Plan: n1 dies. The balancer counts each loss once, even if another balancer follows it, and that
// one's session is lost.
TEST_F(OrphansTest, LossesWithoutASuccessorAreCountedOnce) {
  cluster_.Start("n3");
  cluster_.Run(seconds(5));
  ASSERT_EQ(cluster_.store().Balancer().leader, "n2");
  cluster_.Kill("n1");
  cluster_.Run(seconds(60));
  EXPECT_EQ(Orphans(), 12u);
  EXPECT_EQ(cluster_.TransitionsOf(Reason::kLeaseExpired).size(), 12u);
  cluster_.Kill("n2");
  ASSERT_TRUE(
      cluster_.RunUntil([&] { return cluster_.store().Balancer().leader == "n3"; }, seconds(60)));
  cluster_.Run(seconds(10));
  cluster_.RevokeLeaseOf("n3");
  cluster_.Run(seconds(30));
  EXPECT_EQ(Orphans(), 12u);
}

// Plan: n1 resigns its shards and leaves; the losses are reported with the term that ended.
TEST_F(OrphansTest, AreToldWithTheTermThatEnded) {
  cluster_.Drain("n1");
  ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.finished("n1"); }, seconds(60)));
  cluster_.Run(seconds(10));
  EXPECT_EQ(Orphans(), 12u);
  EXPECT_EQ(cluster_.TransitionsOf(Reason::kShutdown).size(), 12u);
}

// Plan: n1 is restarted: for a moment nobody may lead, but nothing was lost.
TEST_F(OrphansTest, AreNotThoseOfANodeThatRestarts) {
  cluster_.Drain("n1");
  ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.finished("n1"); }, seconds(60)));
  cluster_.Start("n1");
  ASSERT_TRUE(cluster_.RunUntil([&] { return AllLed(); }, seconds(20)));
  cluster_.Run(seconds(20));
  EXPECT_EQ(Orphans(), 0u);
}

// Plan: an operator's apply has nothing to do in a group in which nobody may lead, and ends.
TEST_F(OrphansTest, DoNotKeepAnApplyFromEnding) {
  cluster_.Kill("n1");
  cluster_.Run(seconds(20));
  cluster_.Policy("n2", {PolicyKind::kRebalance});
  EXPECT_TRUE(cluster_.RunUntil(
      [&] { return cluster_.core("n2").view().policy({PolicyKind::kRebalance}) == nullptr; },
      seconds(20)));
}

// Plan: n1 is drained, and n2 can't prepare its shards, for example because their `releasing` hangs
// there. They go to n3 instead.
TEST_F(BalancerTest, ADrainChoosesAnotherTargetIfOneFails) {
  cluster_.Start("n3");
  ASSERT_TRUE(cluster_.RunUntil([&] { return Balanced(); }, seconds(30)));
  for (const ShardId shard : cluster_.ShardsOf("n1")) {
    cluster_.Behave("n2", core::CallbackKind::kPrepare, shard, Behaviour::kHangs);
  }
  cluster_.Policy("n3", PolicyNamed("drain/n1"));
  EXPECT_TRUE(cluster_.RunUntil([&] { return cluster_.LedBy("n1") == 0; }, seconds(20)));
  EXPECT_EQ(cluster_.violations(), kNone);
}

// Plan: the only other node fails to prepare one shard for ten minutes. The drain asks it again
// more and more seldom, and gives it the shard soon after the cause is gone.
TEST_F(BalancerTest, ADrainWithoutAnotherTargetIsTriedAgainMoreAndMoreSlowly) {
  const ShardId shard = cluster_.ShardsOf("n1").front();
  cluster_.Behave("n2", core::CallbackKind::kPrepare, shard, Behaviour::kThrows);
  cluster_.Policy("n2", PolicyNamed("drain/n1"));
  cluster_.Run(std::chrono::minutes(10));
  EXPECT_EQ(cluster_.ShardsOf("n1"), std::vector<ShardId>{shard});
  std::size_t asked = 0;
  for (const auto& [at, callback] : cluster_.Asked<core::RunCallback>("n2")) {
    if (callback.kind == core::CallbackKind::kPrepare && callback.shard == shard) ++asked;
  }
  EXPECT_GE(asked, 10u);
  EXPECT_LE(asked, 20u);
  cluster_.Behave("n2", core::CallbackKind::kPrepare, shard, Behaviour::kReturns);
  EXPECT_TRUE(cluster_.RunUntil([&] { return cluster_.LedBy("n1") == 0; }, seconds(65)));
  EXPECT_EQ(cluster_.violations(), kNone);
}

// n1 drains while n3 is to take one of its shards, although activations fail on n3. The move lives.
class FailingTargetTest : public BalancerTest {
 protected:
  void SetUp() override {
    BalancerTest::SetUp();
    cluster_.Behave("n3", core::CallbackKind::kAcquired, Behaviour::kThrows);
    cluster_.Start("n3");
    ASSERT_TRUE(
        cluster_.RunUntil([&] { return cluster_.store().Member("n3").failing; }, seconds(30)));
    ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.LedBy("n3") == 0; }, seconds(60)));
    ASSERT_TRUE(cluster_.store().Member("n3").failing);
    cluster_.Behave("n3", core::CallbackKind::kAcquired, Behaviour::kReturns);
    shard_ = cluster_.ShardsOf("n1").front();
  }
  void Transfer() {
    cluster_.Transfer("n1", {.shard = shard_, .to = "n3", .if_term = {}, .actor = {}});
    cluster_.Run(milliseconds(100));
  }
  void DrainN1() { cluster_.Policy("n2", PolicyNamed("drain/n1")); }
  ShardId shard_;
};

// Plan: an operator's transfer to n3 is being prepared when n1 is drained. It is carried out: the
// drain plans no other move of that shard.
TEST_F(FailingTargetTest, ADrainLeavesAnOperatorsMoveAlone) {
  cluster_.Behave("n3", core::CallbackKind::kPrepare, Behaviour::kHangs);
  Transfer();
  const auto asked = cluster_.Asked<core::RunCallback>("n3").back().second;
  ASSERT_EQ(asked.kind, core::CallbackKind::kPrepare);
  DrainN1();
  cluster_.Run(seconds(2));
  EXPECT_EQ(PhasesOf({shard_}), "planned ");
  cluster_.Deliver("n3", core::CallbackReturned{asked.operation, shard_, true});
  cluster_.Run(seconds(2));
  EXPECT_EQ(cluster_.LeaderOf(shard_), "n3");
  EXPECT_EQ(cluster_.LedBy("n1"), 0u);
  EXPECT_EQ(cluster_.violations(), kNone);
}

// Plan: n3 has prepared the shard, and n1's application is asked to release it, when the drain is
// planned. The release goes on for this move.
TEST_F(FailingTargetTest, ADrainLeavesAPreparedMoveAlone) {
  cluster_.Behave("n1", core::CallbackKind::kReleasing, shard_, Behaviour::kHangs);
  Transfer();
  const auto asked = cluster_.Asked<core::RunCallback>("n1").back().second;
  ASSERT_EQ(asked.kind, core::CallbackKind::kReleasing);
  DrainN1();
  cluster_.Run(seconds(1));
  EXPECT_EQ(PhasesOf({shard_}), "prepared ");
  cluster_.Deliver("n1", core::CallbackReturned{asked.operation, shard_, true});
  cluster_.Run(seconds(1));
  EXPECT_EQ(cluster_.LeaderOf(shard_), "n3");
  EXPECT_EQ(cluster_.violations(), kNone);
}

}  // namespace
}  // namespace baton::test
