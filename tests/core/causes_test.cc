// Why a node got a shard: each kind of cause, in a group in which just that happens. The records in
// etcd and all transitions say the same.
#include "core/causes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>

#include "core/cluster.h"

namespace baton::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Pair;

constexpr std::uint32_t kExplainedShards = 12;

// "ready_standby: ready standby in zone b"
std::string Explained(const Cause& cause) {
  return std::string(ToString(cause.kind)) + ": " + CauseWords(cause);
}

PlacementRule RuleOf(LabelTerms require, std::vector<LabelTerms> prefer = {}) {
  return {.shards = {}, .require = std::move(require), .prefer = std::move(prefer)};
}
LabelTerms InZone(const std::string& zone) { return {{"zone", {zone}}}; }

// n1 and n2 are in zone a, n3 and n4 in zone b. Standbys are ready at once.
class CausesTest : public ::testing::Test {
 protected:
  void SetUp() override { Begin(false); }
  void TearDown() override { EXPECT_EQ(cluster_->violations(), kNone); }

  void Begin(bool listener) {
    ClusterOptions options;
    options.nodes = 4;
    options.shards = kExplainedShards;
    options.listener = listener;
    options.tune = [](core::CoreOptions& tuned) {
      tuned.self.zone = tuned.self.node <= "n2" ? "a" : "b";
      tuned.self.directory = std::hash<NodeId>{}(tuned.self.node) | 1;
      tuned.rebalance_delay = seconds(1);
      tuned.cooldown = seconds(0);
    };
    cluster_ = std::make_unique<Cluster>(options);
    ASSERT_TRUE(cluster_->Up()) << cluster_->WhyNotSettled();
    seen_ = cluster_->transitions().size();
  }

  void Change(const std::function<void(ConfigFact&)>& change) {
    ConfigFact config = std::get<ConfigFact>(cluster_->store().Get("config"));
    config.schema = kConfigSchema;
    change(config);
    cluster_->store().Put(config);
    cluster_->HoldWatch("n1", false);  // the watches hear of it
  }
  void Set(const Placement& placement) {
    Change([&](ConfigFact& config) { config.placement = placement; });
  }
  void Pause() {
    cluster_->store().Put(PolicyFact{.name = {PolicyKind::kPause}, .present = true});
    cluster_->Run(seconds(1));
  }
  void KillAndForget(const NodeId& node) {
    cluster_->Kill(node);
    ASSERT_TRUE(
        cluster_->RunUntil([&] { return !cluster_->store().Member(node).present; }, seconds(20)));
  }
  // Runs, and says which causes the transitions have since then, and how often. Each is the one
  // that the record in etcd has, too, if the leadership lasts.
  std::map<std::string, int> CausesOf(const std::function<void()>& happens,
                                      Duration length = seconds(20)) {
    seen_ = cluster_->transitions().size();
    happens();
    cluster_->Run(length);
    std::map<std::string, int> causes;
    for (; seen_ < cluster_->transitions().size(); ++seen_) {
      const Transition& transition = cluster_->transitions()[seen_].second;
      if (transition.to.empty()) continue;
      ++causes[Explained(transition.cause)];
      const RecordFact record = cluster_->store().Record(transition.shard);
      if (record.term() == transition.term) {
        EXPECT_EQ(record.cause, transition.cause);
      }
    }
    return causes;
  }

  std::unique_ptr<Cluster> cluster_;
  std::size_t seen_ = 0;
};

TEST_F(CausesTest, FirstClaimsAndTakeoversFillUpShares) {
  for (std::uint32_t s = 0; s < kExplainedShards; ++s) {
    EXPECT_EQ(cluster_->store().Record(ShardId{s}).cause.kind, CauseKind::kHasRoom) << s;
  }
  EXPECT_THAT(CausesOf([&] { KillAndForget("n1"); }),
              ElementsAre(Pair("has_room: it led fewer shards than its share", 3)));
  EXPECT_THAT(CausesOf([&] { cluster_->Start("n1"); }),
              ElementsAre(Pair("balance: to spread shards evenly", 3)));
}

TEST_F(CausesTest, ANodeThatIsBackAtOnceLedItBefore) {
  EXPECT_THAT(CausesOf([&] { cluster_->Start("n2", true); }),
              ElementsAre(Pair("led_before: it led the shard before", 3)));
}

// Plan: standbys are spread by zone, so n1's are in zone b. Without `spread` the zone is named,
// too.
TEST_F(CausesTest, AReadyStandbyTakesOver) {
  PlacementRule rule;
  rule.standbys = 1;
  rule.spread = "zone";
  Set({rule});
  cluster_->Run(seconds(5));
  Pause();
  EXPECT_THAT(CausesOf([&] { KillAndForget("n1"); }),
              ElementsAre(Pair("ready_standby: ready standby in zone b", 3)));
}

// Plan: the group prefers zone a, and then n3. Both nodes of the zone are lost, and then one is
// back.
TEST_F(CausesTest, APreferenceIsACauseOfMovesAndClaims) {
  EXPECT_THAT(CausesOf([&] {
                Set({RuleOf({}, {InZone("a"), {{"node", {"n3"}}}})});
              }),
              ElementsAre(Pair("rule_prefers: rule 1 prefers zone=a", 6)));
  EXPECT_THAT(CausesOf([&] { KillAndForget("n2"); }),
              ElementsAre(Pair("rule_prefers: rule 1 prefers zone=a", 6)));
  EXPECT_THAT(CausesOf([&] { KillAndForget("n1"); }),
              ElementsAre(Pair("rule_prefers: rule 1 prefers node=n3", 12)));
  EXPECT_THAT(CausesOf([&] { cluster_->Start("n1"); }, seconds(60)),
              ElementsAre(Pair("rule_prefers: rule 1 prefers zone=a", 12)));
}

TEST_F(CausesTest, ARequirementIsACauseOfMovesAndClaims) {
  EXPECT_THAT(CausesOf([&] { Set({RuleOf(InZone("a"))}); }),
              ElementsAre(Pair("rule_forbids: rule 1 forbids n3", 3),
                          Pair("rule_forbids: rule 1 forbids n4", 3)));
  EXPECT_THAT(CausesOf([&] { KillAndForget("n2"); }),
              ElementsAre(Pair("rule_requires: rule 1 requires zone=a", 6)));
}

TEST_F(CausesTest, WhoDrainsOrStopsGivesItsShardsAway) {
  EXPECT_THAT(CausesOf([&] {
                cluster_->Policy("n1", {PolicyKind::kDrain, "n2"});
              }),
              ElementsAre(Pair("drain: n2 gives its shards away", 3)));
  EXPECT_THAT(CausesOf([&] { cluster_->Drain("n3"); }),
              ElementsAre(Pair("drain: n3 gives its shards away", 4)));
}

// Plan: n1 dies, and n2, which should claim one of its shards, can't write.
TEST_F(CausesTest, TheNextInLineTakesOverForOneThatStalls) {
  Pause();
  cluster_->HoldWrites("n2");
  EXPECT_THAT(CausesOf([&] { KillAndForget("n1"); }),
              Contains(Pair("passed_over: n2 did not claim it", 1)));
  cluster_->LetWrites("n2");
  cluster_->Run(seconds(2));
}

TEST_F(CausesTest, TheFailoverSettingsKeepShardsForTheirLastLeader) {
  Change([](ConfigFact& config) { config.failover.policy = FailoverPolicy::kNever; });
  KillAndForget("n4");
  cluster_->Run(seconds(30));
  EXPECT_THAT(CausesOf([&] { cluster_->Start("n4"); }),
              ElementsAre(Pair("taken_back: the failover settings keep it for this node", 3)));
}

// Plan: the same for a shard that an operator has moved. Its record names the state directory of
// the node that got it, which takes it back, too.
TEST_F(CausesTest, TheFailoverSettingsKeepAMovedShardForItsLastLeader) {
  Pause();
  Change([](ConfigFact& config) { config.failover.policy = FailoverPolicy::kNever; });
  core::TransferRequested ask;
  ask.shard = cluster_->ShardsOf("n1").front();
  ask.to = "n4";
  ask.actor = "ann";
  cluster_->Transfer("n1", ask);
  ASSERT_TRUE(cluster_->RunUntil([&] { return cluster_->LedBy("n4") == 4; }, seconds(5)));
  KillAndForget("n4");
  cluster_->Run(seconds(5));
  EXPECT_THAT(CausesOf([&] { cluster_->Start("n4"); }),
              ElementsAre(Pair("taken_back: the failover settings keep it for this node", 4)));
}

TEST_F(CausesTest, ADamagedRecordIsReplaced) {
  const ShardId shard = cluster_->ShardsOf("n2").front();
  EXPECT_THAT(CausesOf([&] { cluster_->DamageRecord(shard); }),
              Contains(Pair("damaged_record: the damaged record was replaced", 1)));
  EXPECT_EQ(cluster_->LeaderOf(shard), "n2");
}

TEST_F(CausesTest, AnOperatorMovesAShard) {
  Pause();
  core::TransferRequested ask;
  ask.shard = cluster_->ShardsOf("n1").front();
  ask.to = "n2";
  ask.actor = "ann";
  EXPECT_THAT(CausesOf([&] { cluster_->Transfer("n1", ask); }),
              ElementsAre(Pair("operator: an operator moved it", 1)));
}

TEST_F(CausesTest, AShardThatFailsIsTriedElsewhere) {
  Begin(true);
  const ShardId shard = cluster_->ShardsOf("n2").front();
  cluster_->Behave("n2", core::CallbackKind::kAcquired, shard, Behaviour::kThrows);
  EXPECT_THAT(CausesOf([&] { cluster_->Start("n2", true); }, seconds(60)),
              Contains(Pair("activation_failed: activation failed on n2", 1)));
}

// Plan: a version without causes wrote the record and the move: nobody guesses.
TEST_F(CausesTest, WhatAnOlderVersionWroteHasNoCause) {
  const ShardId shard = cluster_->ShardsOf("n1").front();
  Pause();
  MoveFact move;
  move.shard = shard;
  move.present = true;
  move.ends = cluster_->TermOf(shard);
  move.from = "n1";
  move.to = "n3";
  cluster_->store().Put(move);
  cluster_->HoldWatch("n1", false);
  cluster_->Run(seconds(5));
  EXPECT_EQ(cluster_->LeaderOf(shard), "n3");
  EXPECT_EQ(cluster_->store().Record(shard).cause, Cause{});
}

// ---- without a group ---------------------------------------------------------------------------

MemberFact Labelled(Labels labels) {
  MemberFact node;
  node.node = "n1";
  node.zone = "a";
  node.labels = std::move(labels);
  return node;
}

// Plan: a node of weight 0 gives its shards away, whatever the rules prefer.
TEST(Causes, AWeightOfZeroIsNoPreference) {
  core::AssignmentInput input;
  input.members = {{.id = "n1"}, {.id = "n2", .weight = 0}};
  using Place = core::AssignmentPool::Place;
  input.pools = {{.members = {Place::kWanted, Place::kAllowed}}};
  input.shards = {{.leader = 1, .pool = 1}};
  core::ShardRules rules;
  rules.Set({RuleOf({}, {InZone("a")})}, 1);
  const MemberFact target = Labelled({});
  const core::PlannedMove move{.shard = ShardId{0}, .from = 1, .to = 0};
  EXPECT_EQ(core::CauseOf(input, move, {rules, ShardId{0}, target}).kind, CauseKind::kBalance);
  input.members[1].weight = 1;
  EXPECT_EQ(core::CauseOf(input, move, {rules, ShardId{0}, target}).kind, CauseKind::kRulePrefers);
}

// Plan: a rule with as many long terms as it may have. The detail names as many as fit.
TEST(Causes, TheDetailIsBounded) {
  Labels labels;
  LabelTerms terms;
  for (char c = 'a'; c < 'a' + static_cast<char>(kMaxLabelTerms); ++c) {
    labels[std::string(1, c)] = std::string(100, c);
    terms.push_back({std::string(1, c), {std::string(100, c)}});
  }
  const MemberFact node = Labelled(labels);
  core::AssignmentInput input;
  input.members = {{.id = "n1"}};
  input.pools = {{.members = {core::AssignmentPool::Place::kWanted}}};
  input.shards = {{.pool = 1}};
  core::ShardRules rules;
  rules.Set({RuleOf({}, {terms})}, 1);
  const Cause cause =
      core::CauseOf(input, core::PlannedClaim{ShardId{0}, 0}, {rules, ShardId{0}, node});
  EXPECT_EQ(cause.detail, "a=" + std::string(100, 'a') + ",b=" + std::string(100, 'b'));
}

}  // namespace
}  // namespace baton::test
