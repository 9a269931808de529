// One bad write to the group's config halts nobody who knows what it said: it is put back.
#include "core/config_keeper.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/cluster.h"

namespace baton::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class ConfigKeeperTest : public ::testing::Test {
 protected:
  /// n4, which only some tests start, was given another number of shards.
  static ClusterOptions Options() {
    ClusterOptions options;
    options.tune = [](core::CoreOptions& tuned) {
      if (tuned.self.node == "n4") tuned.shards = 13;
    };
    return options;
  }
  ConfigKeeperTest() : cluster_(Options()) {
    EXPECT_TRUE(cluster_.Up());
    good_ = Stored();
  }

  ConfigFact Stored() { return std::get<ConfigFact>(cluster_.store().Get("config")); }
  bool Good() {
    const ConfigFact stored = Stored();
    return stored.present && stored.readability == Readability::kReadable &&
           stored.shards == good_.shards && stored.hash == good_.hash &&
           stored.schema == good_.schema && stored.cluster_id == good_.cluster_id;
  }
  void Put(const ConfigFact& config) {
    cluster_.store().Put(config);
    cluster_.HoldWatch("n1", false);  // the watches hear of it
  }
  void Delete() {
    cluster_.store().Delete("config");
    cluster_.HoldWatch("n1", false);
  }
  ConfigFact Damaged() const {
    ConfigFact config = good_;
    config.readability = Readability::kDamaged;
    return config;
  }
  std::vector<Term> Terms() const {
    std::vector<Term> terms;
    for (std::uint32_t s = 0; s < good_.shards; ++s) terms.push_back(cluster_.TermOf(ShardId{s}));
    return terms;
  }
  std::size_t Mends() const {
    std::size_t mends = 0;
    for (const char* const node : {"n1", "n2", "n3"}) {
      mends += cluster_.Sent<ConfigMend>(node).size();
    }
    return mends;
  }
  /// While etcd denies it, nobody can put the config back.
  void DenyMends(bool denied) {
    for (const char* const node : {"n1", "n2", "n3"}) {
      cluster_.DenyWrites(node, [denied](const Write& write) {
        return denied && std::holds_alternative<ConfigMend>(write);
      });
    }
  }
  std::size_t ClaimsOfShards() const {
    std::size_t claims = 0;
    for (const char* const node : {"n1", "n2"}) {
      for (const auto& [at, batch] : cluster_.Sent<ClaimBatch>(node)) {
        claims += batch.claims.front().shard ? 1 : 0;
      }
    }
    return claims;
  }
  std::string Said(const NodeId& node) const {
    std::string said;
    for (const auto& [at, notice] : cluster_.Asked<core::Notice>(node)) said += notice.text + "\n";
    return said;
  }

  Cluster cluster_;
  ConfigFact good_;
};

// Plan: each kind of bad write in turn. All three nodes lead on with the same terms. The first one
// writes the config once and says why; others may only hear that all is well.
TEST_F(ConfigKeeperTest, ABadWriteHaltsNobodyAndIsPutBackOnce) {
  std::map<std::string, ConfigFact> bad;
  bad["can't be read any more"] = Damaged();
  bad["says 13 shards now, instead of 12"] = good_;
  bad["says 13 shards now, instead of 12"].shards = 13;
  bad["says hash 'modulo' now, instead of 'murmur2'"] = good_;
  bad["says hash 'modulo' now, instead of 'murmur2'"].hash = HashFunction::kModulo;
  bad["says etcd cluster 5 now, instead of " + std::to_string(good_.cluster_id)] = good_;
  bad["says etcd cluster 5 now, instead of " + std::to_string(good_.cluster_id)].cluster_id = 5;
  bad["says etcd cluster 0 now, instead of " + std::to_string(good_.cluster_id)] = good_;
  bad["says etcd cluster 0 now, instead of " + std::to_string(good_.cluster_id)].cluster_id = 0;
  bad["was deleted"] = ConfigFact{};
  const std::vector<Term> terms = Terms();
  std::size_t mends = 0;
  for (const auto& [what, config] : bad) {
    cluster_.Run(minutes(11));
    if (config.present) {
      Put(config);
    } else {
      Delete();
    }
    EXPECT_TRUE(cluster_.RunUntil([&] { return Good(); }, seconds(1))) << what;
    cluster_.Run(seconds(2));
    EXPECT_EQ(Mends(), ++mends) << what;
    EXPECT_NE(Said("n1").find("the key 'config' " + what + "; this node goes on"),
              std::string::npos)
        << Said("n1");
  }
  EXPECT_EQ(Terms(), terms);
  EXPECT_TRUE(cluster_.Settled()) << cluster_.WhyNotSettled();
  EXPECT_EQ(cluster_.violations(), std::vector<std::string>{});
}

// Plan: fields that only a newer version knows stay as they are.
TEST_F(ConfigKeeperTest, WhatALaterVersionAddedIsPutBackToo) {
  good_.unknown_fields = "later";
  Put(good_);
  cluster_.Run(seconds(1));
  EXPECT_EQ(Mends(), 0u) << "an addition is no mistake";
  Put(Damaged());
  cluster_.Run(seconds(1));
  EXPECT_TRUE(Good());
  EXPECT_EQ(Stored().unknown_fields, "later");
}

TEST_F(ConfigKeeperTest, ANewerSchemaHaltsTheNodes) {
  ConfigFact newer = good_;
  newer.schema = kConfigSchema + 1;
  Put(newer);
  cluster_.Run(seconds(2));
  for (const char* const node : {"n1", "n2", "n3"}) EXPECT_TRUE(cluster_.halted(node));
  EXPECT_EQ(Stored().schema, kConfigSchema + 1);
}

// Plan: the first node's writes don't arrive: the next in line writes.
TEST_F(ConfigKeeperTest, TheNextInLinePutsItBackIfTheFirstDoesNot) {
  cluster_.HoldWrites("n1");
  Put(Damaged());
  EXPECT_TRUE(cluster_.RunUntil([&] { return Good(); }, milliseconds(300)));
  EXPECT_EQ(cluster_.Sent<ConfigMend>("n2").size(), 1u);
  EXPECT_EQ(cluster_.Sent<ConfigMend>("n3").size(), 0u);
}

// Plan: something damages the config again as soon as it is right. In ten minutes there are few
// writes, and nobody halts.
TEST_F(ConfigKeeperTest, BadWritesInARowArePutBackMoreAndMoreSlowly) {
  const TimePoint end = cluster_.now() + minutes(10);
  while (cluster_.now() < end) {
    Put(Damaged());
    cluster_.RunUntil([&] { return Good(); }, minutes(2));
  }
  EXPECT_TRUE(Good());
  EXPECT_LE(Mends(), 18u);
  for (const char* const node : {"n1", "n2", "n3"}) EXPECT_FALSE(cluster_.halted(node));
  EXPECT_TRUE(cluster_.Settled()) << cluster_.WhyNotSettled();
}

// Plan: the config is damaged, and etcd denies everybody to put it back. n3 dies. Its shards are
// claimed as soon as the config is right again, and not before: etcd would refuse each claim.
TEST_F(ConfigKeeperTest, NobodyClaimsBeforeItIsPutBack) {
  DenyMends(true);
  Put(Damaged());
  cluster_.Run(milliseconds(100));
  const std::size_t claims = ClaimsOfShards();
  cluster_.Kill("n3");
  cluster_.RevokeLeaseOf("n3");
  cluster_.Run(seconds(5));
  ASSERT_FALSE(Good());
  EXPECT_EQ(ClaimsOfShards(), claims);
  DenyMends(false);
  const auto led = [&] { return cluster_.LedBy("n1") + cluster_.LedBy("n2"); };
  EXPECT_TRUE(cluster_.RunUntil([&] { return led() == good_.shards; }, seconds(5)));
  EXPECT_EQ(cluster_.violations(), std::vector<std::string>{});
}

// Plan: the same, and an operator moves a shard of n1. n1 leads it until the config is right again.
TEST_F(ConfigKeeperTest, NothingIsHandedOverBeforeItIsPutBack) {
  DenyMends(true);
  Put(Damaged());
  cluster_.Run(milliseconds(100));
  const ShardId shard = cluster_.ShardsOf("n1").front();
  cluster_.Transfer("n1", {.shard = shard, .to = "n2", .if_term = {}, .actor = {}});
  cluster_.Run(seconds(5));
  ASSERT_FALSE(Good());
  ASSERT_TRUE(cluster_.store().Move(shard));
  EXPECT_EQ(cluster_.store().Move(shard)->phase, MovePhase::kPrepared);
  EXPECT_TRUE(cluster_.Sent<TransferBatch>("n1").empty());
  EXPECT_EQ(cluster_.LeaderOf(shard), "n1");
  DenyMends(false);
  EXPECT_TRUE(cluster_.RunUntil([&] { return cluster_.LeaderOf(shard) == "n2"; }, seconds(5)));
  EXPECT_EQ(cluster_.violations(), std::vector<std::string>{});
}

// Plan: n4 starts while the config can't be read, and nobody can write. It halts at once.
TEST_F(ConfigKeeperTest, ANodeThatStartsRefusesADamagedOne) {
  for (const char* const node : {"n1", "n2", "n3"}) cluster_.HoldWrites(node);
  Put(Damaged());
  cluster_.Start("n4");
  cluster_.Run(seconds(1));
  ASSERT_TRUE(cluster_.halted("n4"));
  EXPECT_EQ(cluster_.halted("n4")->message,
            "group config: the key 'config' can't be read; restore it, or delete it and the nodes "
            "will write it again");
}

// Plan: the config is deleted by mistake, and a node with other options starts before the members
// hear of that. It must not make its own options the group's. The members put the config back, and
// the node halts, because its options don't fit.
TEST_F(ConfigKeeperTest, ANewcomerCreatesNoConfigBesideLiveMembers) {
  const std::vector<Term> terms = Terms();
  for (const char* const node : {"n1", "n2", "n3"}) cluster_.HoldWatch(node);
  cluster_.store().Delete("config");
  cluster_.Start("n4");  // it has 13 shards: see Options
  cluster_.Run(seconds(1));
  EXPECT_FALSE(Stored().present);
  EXPECT_EQ(cluster_.Sent<ConfigCreate>("n4").size(), 0u);
  EXPECT_NE(Said("n4").find("the key 'config' is missing, but the group has members"),
            std::string::npos)
      << Said("n4");
  for (const char* const node : {"n1", "n2", "n3"}) cluster_.HoldWatch(node, false);
  EXPECT_TRUE(cluster_.RunUntil([&] { return Good(); }, seconds(1)));
  cluster_.Run(seconds(1));
  ASSERT_TRUE(cluster_.halted("n4"));
  EXPECT_NE(cluster_.halted("n4")->message.find("give this node 12 shards"), std::string::npos);
  EXPECT_EQ(Terms(), terms);
  EXPECT_TRUE(cluster_.Settled()) << cluster_.WhyNotSettled();
}

// Plan: the same, but the members' processes are dead. Once their leases have expired, nobody knows
// what the config said, and the newcomer creates it.
TEST_F(ConfigKeeperTest, ANewcomerCreatesTheConfigOnceTheLastMemberIsGone) {
  for (const char* const node : {"n1", "n2", "n3"}) cluster_.Kill(node);
  cluster_.store().Delete("config");
  cluster_.Start("n4");
  cluster_.Run(seconds(2));
  EXPECT_FALSE(Stored().present);
  EXPECT_TRUE(cluster_.RunUntil([&] { return Stored().present; }, seconds(15)));
  EXPECT_EQ(Stored().shards, 13u);
}

// Plan: n3 loses its session, and then the config is deleted before n1 and n2 can hear of that. n3
// sees that they are members, but it knows the config: it puts the config back by itself, with the
// group's settings.
TEST_F(ConfigKeeperTest, ANodeBetweenTwoSessionsPutsADeletedConfigBack) {
  good_.schema = kConfigSchema;
  good_.failover = {.policy = FailoverPolicy::kAfter, .delay = seconds(20)};
  good_.unknown_fields = "later";
  Put(good_);
  cluster_.Run(seconds(1));
  for (const char* const node : {"n1", "n2"}) cluster_.HoldWatch(node);
  cluster_.RevokeLeaseOf("n3");
  cluster_.store().Delete("config");
  EXPECT_TRUE(cluster_.RunUntil([&] { return Good(); }, seconds(5)));
  EXPECT_EQ(Stored().failover, good_.failover);
  EXPECT_EQ(Stored().unknown_fields, "later");
}

// Plan: all three nodes lose their sessions, and the config is damaged before they have new ones.
// They can't know who wrote it: they open no session, and halt after a while.
TEST_F(ConfigKeeperTest, NodesWithoutASessionWaitForAWhile) {
  for (const char* const node : {"n1", "n2", "n3"}) cluster_.RevokeLeaseOf(node);
  cluster_.store().Put(Damaged());
  cluster_.Run(core::kConfigPatience - seconds(1));
  for (const char* const node : {"n1", "n2", "n3"}) {
    EXPECT_FALSE(cluster_.halted(node));
    EXPECT_FALSE(cluster_.core(node).session().member());
  }
  EXPECT_EQ(Mends(), 0u);
  cluster_.Run(seconds(30));
  for (const char* const node : {"n1", "n2", "n3"}) EXPECT_TRUE(cluster_.halted(node));
}

// Plan: the same, and they are cut off from then on: they don't know whether it is right again.
TEST_F(ConfigKeeperTest, NodesThatReachNoEtcdDoNotGiveUp) {
  for (const char* const node : {"n1", "n2", "n3"}) cluster_.RevokeLeaseOf(node);
  cluster_.store().Put(Damaged());
  cluster_.Run(seconds(1));
  for (const char* const node : {"n1", "n2", "n3"}) cluster_.CutOff(node);
  cluster_.Run(minutes(1));
  cluster_.store().Put(good_);
  for (const char* const node : {"n1", "n2", "n3"}) cluster_.CutOff(node, false);
  EXPECT_TRUE(cluster_.RunUntil([&] { return cluster_.Settled(); }, seconds(30)))
      << cluster_.WhyNotSettled();
}

// Plan: nodes without a session ask for the config again, and stand still until long after the
// answer has arrived. Meanwhile the config is put back. The late answer halts nobody.
TEST_F(ConfigKeeperTest, AnAnswerThatWaitedLongHaltsNobody) {
  for (const char* const node : {"n1", "n2", "n3"}) cluster_.RevokeLeaseOf(node);
  cluster_.store().Put(Damaged());
  cluster_.Run(seconds(1));
  std::set<NodeId> paused;
  cluster_.on_action = [&](const NodeId& node, const core::Action& action) {
    if (!std::holds_alternative<core::AuditView>(action)) return;
    cluster_.Pause(node);
    paused.insert(node);
  };
  ASSERT_TRUE(cluster_.RunUntil([&] { return paused.size() == 3; }, seconds(20)));
  cluster_.on_action = nullptr;
  cluster_.Run(2 * core::kConfigPatience);
  cluster_.store().Put(good_);
  for (const char* const node : {"n1", "n2", "n3"}) cluster_.Resume(node);
  EXPECT_TRUE(cluster_.RunUntil([&] { return cluster_.Settled(); }, seconds(30)))
      << cluster_.WhyNotSettled();
}

TEST_F(ConfigKeeperTest, NodesWithoutASessionGoOnOnceItIsRightAgain) {
  for (const char* const node : {"n1", "n2", "n3"}) cluster_.RevokeLeaseOf(node);
  cluster_.store().Put(Damaged());
  cluster_.Run(core::kConfigPatience - seconds(1));
  Put(good_);
  EXPECT_TRUE(cluster_.RunUntil([&] { return cluster_.Settled(); }, seconds(20)))
      << cluster_.WhyNotSettled();
}

// Plan: a recovery closes the group while no node has a session. It is no bad write.
TEST_F(ConfigKeeperTest, ARecoveryHaltsTheNodesAtOnce) {
  for (const char* const node : {"n1", "n2", "n3"}) cluster_.RevokeLeaseOf(node);
  ConfigFact closed = good_;
  closed.cluster_id = 0;
  cluster_.store().Put(closed);
  cluster_.Run(seconds(2));
  for (const char* const node : {"n1", "n2", "n3"}) EXPECT_TRUE(cluster_.halted(node));
  EXPECT_EQ(Mends(), 0u);
  EXPECT_EQ(Stored().cluster_id, 0u);
}

// Plan: a copy of the write that put the config back is late. It changes nothing, even if the
// config is damaged again.
TEST_F(ConfigKeeperTest, ALateCopyChangesNothing) {
  Put(Damaged());
  ASSERT_TRUE(cluster_.RunUntil([&] { return Good(); }, seconds(1)));
  const auto written = cluster_.Sent<ConfigMend>("n1");
  ASSERT_EQ(written.size(), 1u);
  cluster_.store().Put(Damaged());
  EXPECT_EQ(cluster_.store().Execute(written.front().second).outcome, Outcome::kRefused);
}

}  // namespace
}  // namespace baton::test
