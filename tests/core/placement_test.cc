// Placement rules in a group: who begins to lead what, and what moves, when rules and nodes change.
#include "base/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "core/cluster.h"

namespace baton::test {
namespace {

constexpr std::uint32_t kRuledShards = 12;

PlacementRule Rule(std::vector<ShardRange> shards, LabelTerms require,
                   std::vector<LabelTerms> prefer = {}) {
  return {.shards = std::move(shards), .require = std::move(require), .prefer = std::move(prefer)};
}
LabelTerms Zone(const std::string& zone) { return {{"zone", {zone}}}; }
LabelTerms Node(const std::string& node) { return {{"node", {node}}}; }

// n1 and n2 are in zone a, n3 and n4 in zone b.
class PlacementTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ClusterOptions options;
    options.nodes = 4;
    options.shards = kRuledShards;
    options.tune = [this](core::CoreOptions& tuned) {
      tuned.self.zone = tuned.self.node <= "n2" ? "a" : "b";
      if (zones_.contains(tuned.self.node)) tuned.self.zone = zones_[tuned.self.node];
      tuned.rebalance_delay = seconds(1);
      tuned.cooldown = seconds(0);
    };
    cluster_ = std::make_unique<Cluster>(options);
    ASSERT_TRUE(cluster_->Up()) << cluster_->WhyNotSettled();
  }
  void TearDown() override { EXPECT_EQ(cluster_->violations(), kNone); }

  void Set(const Placement& placement, const FailoverSettings& failover = {}) {
    ConfigFact config = std::get<ConfigFact>(cluster_->store().Get("config"));
    config.schema = kPlacementSchema;
    config.placement = placement;
    config.failover = failover;
    cluster_->store().Put(config);
  }
  std::string Led() const {
    std::string led;
    for (const char* const node : {"n1", "n2", "n3", "n4"}) {
      led += (led.empty() ? "" : " ") + std::to_string(cluster_->LedBy(node));
    }
    return led;
  }
  bool Comes(const std::string& led, Duration most = seconds(30)) {
    return cluster_->RunUntil([&] { return Led() == led; }, most);
  }
  void KillAndForget(const NodeId& node) {
    cluster_->Kill(node);
    ASSERT_TRUE(
        cluster_->RunUntil([&] { return !cluster_->store().Member(node).present; }, seconds(20)));
  }
  std::map<ShardId, int> CountTransitions() const {
    std::map<ShardId, int> count;
    for (const auto& [node, transition] : cluster_->transitions()) {
      if (!transition.to.empty()) ++count[transition.shard];
    }
    return count;
  }

  std::map<NodeId, std::string> zones_;  ///< of nodes that are in another zone
  std::unique_ptr<Cluster> cluster_;
};

TEST_F(PlacementTest, SittingLeadersAreMovedToWhereTheRuleWantsThem) {
  Set({Rule({}, Zone("a"))});
  EXPECT_TRUE(Comes("6 6 0 0")) << Led();
}

// A rule is no reason to wait: a forbidden leader gives up like one that drains.
TEST_F(PlacementTest, ForbiddenLeadersGiveUpThoughMovesArePaused) {
  cluster_->store().Put(PolicyFact{.name = {PolicyKind::kPause}, .present = true, .actor = "bob"});
  cluster_->Run(seconds(1));
  Set({Rule({{0, 5}}, Zone("a")), Rule({{6, 11}}, {}, {Zone("a")})});
  cluster_->Run(seconds(20));
  for (std::uint32_t s = 0; s < 6; ++s) EXPECT_LE(cluster_->LeaderOf(ShardId{s}), "n2") << s;
  const std::size_t in_b = cluster_->LedBy("n3") + cluster_->LedBy("n4");
  EXPECT_GT(in_b, 0u);  // a preference waits until the group resumes
}

// Plan: a shard rests for an hour after it was moved. Shards that a rule has just moved go at once
// if another rule forbids them their new leaders.
TEST_F(PlacementTest, ForbiddenLeadersGiveUpThoughTheirShardsRest) {
  cluster_->store().Put(PolicyFact{
      .name = {PolicyKind::kLimits}, .present = true, .cooldown = std::chrono::hours(1)});
  cluster_->Run(seconds(1));
  Set({Rule({}, Zone("a"))});
  ASSERT_TRUE(Comes("6 6 0 0")) << Led();
  Set({Rule({}, Zone("b"))});
  EXPECT_TRUE(Comes("0 0 6 6")) << Led();
}

TEST_F(PlacementTest, ALeaderStaysIfNobodyElseMayLead) {
  const std::string before = Led();
  Set({Rule({}, Zone("typo"))});
  cluster_->Run(seconds(60));
  EXPECT_EQ(Led(), before);
}

// Plan: the nodes of the zone die one after the other. The first one's shards go to the second one;
// then nobody leads them, until a node of the zone is back. All others go on.
TEST_F(PlacementTest, AShardWaitsWhileNobodyMayLeadIt) {
  Set({Rule({{0, 5}}, Zone("a"))});
  ASSERT_TRUE(Comes("3 3 3 3"));
  KillAndForget("n1");
  ASSERT_TRUE(Comes("0 6 3 3"));
  KillAndForget("n2");
  ASSERT_TRUE(Comes("0 0 3 3"));
  cluster_->Run(seconds(60));
  EXPECT_EQ(Led(), "0 0 3 3");
  cluster_->Start("n1");
  EXPECT_TRUE(Comes("6 0 3 3")) << Led();
}

// Plan: a node dies, and its shards wait for it for a minute, as the policy wants. They are not
// lost without a successor: it is the next leader that reports the loss, once.
TEST_F(PlacementTest, AShardThatWaitsForItsOwnerIsNotReportedAsLost) {
  Set({Rule({{0, 5}}, Zone("a"))}, {.policy = FailoverPolicy::kAfter, .delay = seconds(60)});
  ASSERT_TRUE(Comes("3 3 3 3"));
  KillAndForget("n1");
  cluster_->Run(seconds(40));
  EXPECT_EQ(Led(), "0 3 3 3");
  EXPECT_EQ(cluster_->TransitionsOf(Reason::kLeaseExpired).size(), 0u);
  ASSERT_TRUE(Comes("0 6 3 3", seconds(60)));
  cluster_->Run(seconds(1));
  EXPECT_EQ(cluster_->TransitionsOf(Reason::kLeaseExpired).size(), 3u);
}

// Plan: the same, but the rules let nobody else lead these shards. The owner is back within the
// delay, and reports that it leads them again: one crash is one transition of each. Then it dies
// again and stays away for longer. Now the balancer reports the loss.
TEST_F(PlacementTest, AShardThatOnlyItsOwnerMayLeadIsReportedAsLostAfterTheDelay) {
  Set({Rule({{0, 5}}, Node("n1"))}, {.policy = FailoverPolicy::kAfter, .delay = seconds(60)});
  ASSERT_TRUE(Comes("6 2 2 2"));
  cluster_->Run(seconds(70));
  const std::size_t before = cluster_->transitions().size();
  const auto reported = [&] { return cluster_->transitions().size() - before; };
  KillAndForget("n1");
  cluster_->Run(seconds(40));
  EXPECT_EQ(reported(), 0u);
  cluster_->Run(seconds(10));
  cluster_->Start("n1");
  ASSERT_TRUE(Comes("6 2 2 2"));
  cluster_->Run(seconds(70));
  EXPECT_EQ(reported(), 6u);
  KillAndForget("n1");
  cluster_->Run(seconds(58));
  EXPECT_EQ(reported(), 6u);
  cluster_->Run(seconds(10));
  EXPECT_EQ(reported(), 12u);
  EXPECT_EQ(cluster_->TransitionsOf(Reason::kLeaseExpired).size(), 6u);
}

// Plan: a node dies and is back within the delay, now in a zone that may not lead its shards.
// It can't take them back, so its return makes nobody wait longer than its death did. Nobody claims
// earlier either.
TEST_F(PlacementTest, AnOwnerThatIsBackAndMayNotLeadMakesNobodyWaitLonger) {
  Set({Rule({{0, 5}}, Zone("a"))}, {.policy = FailoverPolicy::kAfter, .delay = seconds(20)});
  ASSERT_TRUE(Comes("3 3 3 3"));
  cluster_->Run(seconds(70));
  KillAndForget("n1");
  const TimePoint died = cluster_->now();
  cluster_->Run(seconds(17));
  zones_["n1"] = "b";
  cluster_->Start("n1");
  EXPECT_TRUE(cluster_->RunUntil([&] { return cluster_->LedBy("n2") == 6; }, seconds(30)));
  EXPECT_GE(cluster_->now() - died, seconds(20));
  EXPECT_LE(cluster_->now() - died, seconds(22));
}

// Plan: the same, but the node stops in order, and is still there when it has resigned its shards.
// A change of the rules forbids it these shards just then. They wait for the whole delay all the
// same: its next process may be in another zone.
TEST_F(PlacementTest, AnOwnerThatStopsAndMayNotLeadHasTheWholeDelay) {
  Set({}, {.policy = FailoverPolicy::kAfter, .delay = seconds(20)});
  cluster_->Run(seconds(70));
  const std::vector<ShardId> shards = cluster_->ShardsOf("n1");
  cluster_->Behave("n1", core::CallbackKind::kReleasing, shards.front(), Behaviour::kHangs);
  cluster_->Stop("n1");
  const auto resigned = [&] { return cluster_->LeaderOf(shards.back()).empty(); };
  ASSERT_TRUE(cluster_->RunUntil(resigned, seconds(20)));
  const TimePoint since = cluster_->now();
  Set({Rule({}, Zone("b"))}, {.policy = FailoverPolicy::kAfter, .delay = seconds(20)});
  ASSERT_TRUE(cluster_->RunUntil([&] { return !resigned(); }, seconds(60)));
  EXPECT_GE(cluster_->now() - since, seconds(20));
}

// Plan: a node dies, and is back within the delay. Then no node may lead its shard 0. It leads its
// others again, for far longer than the delay. When it dies again, the rules let any node lead
// shard 0. Its delay was over long ago, so it is claimed at once. The others have the whole delay.
TEST_F(PlacementTest, AReturnInVainIsRememberedThoughTheOwnerLeadsOthers) {
  constexpr FailoverSettings kAfter{.policy = FailoverPolicy::kAfter, .delay = seconds(20)};
  const ShardId shard{0};
  const auto led_by = [&](const NodeId& node) { return cluster_->LeaderOf(shard) == node; };
  Set({Rule({{0, 0}}, Node("n1"))}, kAfter);
  ASSERT_TRUE(cluster_->RunUntil([&] { return led_by("n1"); }, seconds(30)));
  cluster_->Run(seconds(70));
  const std::size_t own = cluster_->LedBy("n1");
  KillAndForget("n1");
  Set({Rule({{0, 0}}, Node("nobody"))}, kAfter);
  cluster_->Run(seconds(5));
  cluster_->Start("n1");
  ASSERT_TRUE(cluster_->RunUntil([&] { return cluster_->LedBy("n1") == own - 1; }, seconds(5)));
  cluster_->Run(seconds(17));
  EXPECT_TRUE(cluster_->store().Has("ripe/n1"));  // once the delay is over, and not later
  cluster_->Run(seconds(70));
  const std::vector<ShardId> others = cluster_->ShardsOf("n1");
  ASSERT_FALSE(others.empty());
  KillAndForget("n1");
  const TimePoint died = cluster_->now();
  Set({}, kAfter);
  EXPECT_TRUE(cluster_->RunUntil([&] { return !led_by(""); }, seconds(3)));
  ASSERT_TRUE(cluster_->RunUntil(
      [&] {
        return std::ranges::any_of(
            others, [&](ShardId other) { return !cluster_->LeaderOf(other).empty(); });
      },
      seconds(60)));
  EXPECT_GE(cluster_->now() - died, seconds(20));
}

// Plan: a node stops in order, and one release lasts longer than the delay. The delay of what it
// has resigned is over, but a rule keeps it from all nodes. Then the node dies. The shard that it
// still led, by an older term, has the whole delay.
TEST_F(PlacementTest, WhatAStoppingNodeStillLeadsHasTheWholeDelay) {
  constexpr FailoverSettings kAfter{.policy = FailoverPolicy::kAfter, .delay = seconds(5)};
  Set({}, kAfter);
  cluster_->Run(seconds(70));
  const std::vector<ShardId> shards = cluster_->ShardsOf("n1");
  cluster_->Behave("n1", core::CallbackKind::kReleasing, shards.front(), Behaviour::kHangs);
  cluster_->Drain("n1");
  const auto vacant = [&](ShardId shard) { return cluster_->LeaderOf(shard).empty(); };
  ASSERT_TRUE(cluster_->RunUntil([&] { return vacant(shards.back()); }, seconds(20)));
  Set({Rule({}, Zone("typo"))}, kAfter);
  cluster_->Run(seconds(10));
  ASSERT_FALSE(vacant(shards.front()));
  KillAndForget("n1");
  const TimePoint died = cluster_->now();
  Set({}, kAfter);
  ASSERT_TRUE(cluster_->RunUntil([&] { return !vacant(shards.front()); }, seconds(60)));
  EXPECT_GE(cluster_->now() - died, seconds(5));
}

// Plan: a node that alone may lead a shard, and may lead no other, loses its session several times,
// so that it gets nothing for a while. Then nobody may claim anything. When this time is over, it
// takes its shard, although nothing else has changed.
TEST_F(PlacementTest, ANodeThatRestsTakesItsShardWhenItsRestIsOver) {
  Set({Rule({{0, 0}}, Node("n1")), Rule({}, {{"node", {"n2", "n3", "n4"}}})});
  ASSERT_TRUE(Comes("1 4 4 3"));
  for (int i = 0; i < 4; ++i) {
    cluster_->RevokeLeaseOf("n1");
    cluster_->Run(seconds(3));
  }
  EXPECT_EQ(cluster_->LeaderOf(ShardId{0}), "");
  cluster_->Run(seconds(60));
  EXPECT_EQ(cluster_->LeaderOf(ShardId{0}), "n1");
}

// Plan: shards without a leader that nobody may lead hold up no balance of the others.
TEST_F(PlacementTest, AShardThatNobodyMayLeadHoldsUpNoBalance) {
  Set({Rule({{0, 0}}, Node("n1"))});
  ASSERT_TRUE(Comes("3 3 3 3"));
  KillAndForget("n1");
  KillAndForget("n3");
  cluster_->Run(seconds(10));
  EXPECT_EQ(cluster_->LeaderOf(ShardId{0}), "");
  cluster_->Start("n3");
  EXPECT_TRUE(cluster_->RunUntil(
      [&] { return cluster_->LedBy("n3") >= 3 && cluster_->LeaderOf(ShardId{0}).empty(); },
      seconds(30)))
      << Led();
}

// Plan: zone a is preferred. It is lost, and comes back. Each shard moves once and back once.
TEST_F(PlacementTest, AZoneThatIsLostAndBackCostsNoSecondMove) {
  Set({Rule({}, {}, {Zone("a")})});
  ASSERT_TRUE(Comes("6 6 0 0"));
  cluster_->Run(seconds(5));
  auto before = CountTransitions();
  cluster_->Kill("n1");
  cluster_->Kill("n2");
  ASSERT_TRUE(Comes("0 0 6 6", seconds(60))) << Led();
  cluster_->Run(seconds(30));
  cluster_->Start("n1");
  cluster_->Start("n2");
  ASSERT_TRUE(Comes("6 6 0 0", seconds(60))) << Led();
  cluster_->Run(seconds(30));
  for (auto& [shard, count] : CountTransitions()) {
    EXPECT_EQ(count - before[shard], 2) << "shard " << shard.value;
  }
}

// Plan: preferences in order: the pinned node, then its zone, then anybody.
TEST_F(PlacementTest, TheOrderOfPreferencesIsKept) {
  Set({Rule({{0, 0}}, {}, {Node("n1"), Zone("a")})});
  const auto leader = [&](const NodeId& node) {
    return cluster_->RunUntil([&] { return cluster_->LeaderOf(ShardId{0}) == node; }, seconds(30));
  };
  ASSERT_TRUE(leader("n1"));
  cluster_->Run(seconds(70));  // the shard is no reason for the deaths
  KillAndForget("n1");
  ASSERT_TRUE(leader("n2"));
  cluster_->Run(seconds(70));
  KillAndForget("n2");
  ASSERT_TRUE(
      cluster_->RunUntil([&] { return cluster_->LeaderOf(ShardId{0}) >= "n3"; }, seconds(30)));
  cluster_->Start("n2");
  ASSERT_TRUE(leader("n2"));
  cluster_->Start("n1");
  EXPECT_TRUE(leader("n1"));
}

// Plan: n1's transfer to n3 was decided before the rule, and reaches etcd after it.
TEST_F(PlacementTest, ATransferThatTheRuleOvertakesIsRefused) {
  const ShardId shard = cluster_->ShardsOf("n1").front();
  cluster_->HoldWrites("n1");
  core::TransferRequested ask;
  ask.shard = shard;
  ask.to = "n3";
  ask.actor = "bob";
  cluster_->Transfer("n2", ask);
  ASSERT_TRUE(cluster_->RunUntil([&] { return !cluster_->Sent<TransferBatch>("n1").empty(); },
                                 seconds(10)));
  Set({Rule({}, Zone("a"))});
  cluster_->Run(milliseconds(1));
  cluster_->LetWrites("n1");
  for (int i = 0; i < 200; ++i) {
    cluster_->Run(milliseconds(50));
    ASSERT_NE(cluster_->LeaderOf(shard), "n3");
  }
  EXPECT_TRUE(Comes("6 6 0 0")) << Led();
}

TEST_F(PlacementTest, AnOperatorCanNotMoveAShardToWhereARuleForbidsIt) {
  Set({Rule({}, Zone("a"))});
  ASSERT_TRUE(Comes("6 6 0 0"));
  core::TransferRequested ask;
  ask.shard = ShardId{4};
  ask.to = "n3";
  ask.actor = "bob";
  const core::RequestId request = cluster_->Transfer("n1", ask);
  cluster_->Run(seconds(1));
  const auto& answer = cluster_->transfers().at(request);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().message,
            "a placement rule keeps node 'n3' from leading shard 4: see batonctl placement get");
}

// Plan: n1 and n2 may lead, and n1 does not claim. n2 takes its part over, and n3 and n4 don't.
TEST_F(PlacementTest, WhoStallsIsPassedOverByANodeThatMayLead) {
  Set({Rule({}, Zone("a"))});
  ASSERT_TRUE(Comes("6 6 0 0"));
  cluster_->DenyWrites("n1", IsA<ClaimBatch>);
  KillAndForget("n2");
  cluster_->Start("n2");
  cluster_->Run(seconds(20));
  EXPECT_EQ(cluster_->LedBy("n3") + cluster_->LedBy("n4"), 0u);
  EXPECT_EQ(cluster_->LedBy("n1") + cluster_->LedBy("n2"), kRuledShards) << Led();
}

// Plan: a node stops, and nobody else may lead two of its shards. It hands the others over, resigns
// these two, and is gone long before its time is over.
TEST_F(PlacementTest, WhoStopsWaitsForNobodyThatTheRulesForbid) {
  Set({Rule({{0, 1}}, Node("n2"))});
  ASSERT_TRUE(cluster_->RunUntil(
      [&] { return cluster_->Leads("n2", ShardId{0}) && cluster_->Leads("n2", ShardId{1}); },
      seconds(30)));
  cluster_->Run(seconds(5));
  cluster_->Drain("n2");
  EXPECT_TRUE(cluster_->RunUntil([&] { return cluster_->finished("n2"); }, seconds(5)));
  EXPECT_TRUE(cluster_->drained("n2"));
  cluster_->Run(seconds(10));
  EXPECT_EQ(cluster_->LeaderOf(ShardId{0}), "");
  EXPECT_EQ(cluster_->LedBy("n1") + cluster_->LedBy("n3") + cluster_->LedBy("n4"),
            kRuledShards - 2u);
}

// Plan: a node drains, and rules say that only it may lead some shards: they stay with it.
TEST_F(PlacementTest, APinnedNodeThatDrainsKeepsItsShards) {
  Set({Rule({{0, 1}}, Node("n2"))});
  ASSERT_TRUE(cluster_->RunUntil(
      [&] { return cluster_->Leads("n2", ShardId{0}) && cluster_->Leads("n2", ShardId{1}); },
      seconds(30)));
  cluster_->Policy("n1", {PolicyKind::kDrain, "n2"});
  cluster_->Run(seconds(30));
  EXPECT_EQ(cluster_->LedBy("n2"), 2u);
}

}  // namespace
}  // namespace baton::test
