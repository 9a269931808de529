// Reasons for a node to halt, and how it keeps its watch up to date.
#include <gtest/gtest.h>

#include "core/cluster.h"

namespace baton::test {
namespace {

ConfigFact Config() {
  ConfigFact config;
  config.present = true;
  config.shards = 12;
  config.schema = 1;
  config.cluster_id = 4711;
  return config;
}

// Starts n1 on a group with this config; returns the message of its halt.
std::string HaltOn(const ConfigFact& config) {
  Cluster cluster({});
  cluster.store().Put(config);
  cluster.Start("n1");
  cluster.Run(seconds(5));
  EXPECT_FALSE(cluster.store().Member("n1").present);
  return cluster.halted("n1") ? cluster.halted("n1")->message : "";
}

// Plan: for each value that nodes must agree on, a node has another one; the message names both.
TEST(CoreHalts, OnAnotherShardCount) {
  ConfigFact config = Config();
  config.shards = 13;
  const std::string said = HaltOn(config);
  EXPECT_NE(said.find("13"), std::string::npos) << said;
  EXPECT_NE(said.find("12"), std::string::npos) << said;
}
TEST(CoreHalts, OnAnotherHashFunction) {
  ConfigFact config = Config();
  config.hash = HashFunction::kModulo;
  EXPECT_NE(HaltOn(config).find("modulo"), std::string::npos);
}
TEST(CoreHalts, OnAnotherCluster) {
  ConfigFact config = Config();
  config.cluster_id = 4712;
  EXPECT_NE(HaltOn(config).find("4712"), std::string::npos);
}
// Plan: a node that knows its group reads another etcd, which has nothing of the group and a higher
// revision. If the node created the group there, a part of the nodes would lead each shard twice.
TEST(CoreHalts, OnAnotherClusterWithoutTheGroup) {
  Cluster cluster({});
  cluster.Start("n1");
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.Settled(); }, seconds(20)));
  cluster.Deliver("n1",
                  core::SnapshotRead{Snapshot{.revision = Revision{100'000}, .facts = {}}, 4712});
  ASSERT_TRUE(cluster.halted("n1"));
  EXPECT_NE(cluster.halted("n1")->message.find("but cluster 4712 answers"), std::string::npos);
}
TEST(CoreHalts, OnANewerSchema) {
  ConfigFact config = Config();
  config.schema = kConfigSchema + 1;
  EXPECT_NE(HaltOn(config).find("newer"), std::string::npos);
}
TEST(CoreHalts, OnADamagedConfig) {
  ConfigFact config = Config();
  config.readability = Readability::kDamaged;
  EXPECT_NE(HaltOn(config).find("can't be read"), std::string::npos);
}

// Plan: the state directory knows revision 1,000, and etcd has less: a backup was restored. The
// node halts before it writes. Otherwise it would bring etcd nearer to 1,000 with each restart.
TEST(CoreHalts, OnAReadBelowACommitOfItsOwn) {
  ClusterOptions options;
  options.tune = [](core::CoreOptions& tuned) {
    tuned.highest_committed = Revision{1000};
    tuned.went_back_advice = "; ask n2";
  };
  Cluster cluster(std::move(options));
  cluster.Start("n1");
  cluster.Run(seconds(5));
  ASSERT_TRUE(cluster.halted("n1"));
  EXPECT_NE(cluster.halted("n1")->message.find("1000"), std::string::npos);
  EXPECT_TRUE(cluster.halted("n1")->message.ends_with("; ask n2"));
  EXPECT_EQ(cluster.store().commits(), 0u);
  EXPECT_TRUE(cluster.Asked<core::GrantLease>("n1").empty());
}

// Plan: the read does not show it yet: the backup is restored right after it.
TEST(CoreHalts, OnACommitBelowOneOfItsOwn) {
  ClusterOptions options;
  options.tune = [](core::CoreOptions& tuned) { tuned.highest_committed = Revision{1000}; };
  Cluster cluster(std::move(options));
  cluster.Start("n1");
  cluster.Deliver("n1",
                  core::SnapshotRead{Snapshot{.revision = Revision{1000}, .facts = {}}, 4711});
  cluster.Run(seconds(5));
  ASSERT_TRUE(cluster.halted("n1"));
  EXPECT_NE(cluster.halted("n1")->message.find("1000"), std::string::npos);
  EXPECT_EQ(cluster.LedBy("n1"), 0u);
}

// Plan: as before the last one, and the group exists already.
TEST(CoreHalts, OnAReadBelowACommitOfItsOwnInAGroup) {
  ClusterOptions options;
  options.tune = [](core::CoreOptions& tuned) {
    if (tuned.self.node == "n3") tuned.highest_committed = Revision{1000};
  };
  Cluster cluster(std::move(options));
  cluster.Start("n1");
  cluster.Run(seconds(20));
  const std::uint64_t commits = cluster.store().commits();
  cluster.Start("n3");
  cluster.Run(seconds(5));
  EXPECT_TRUE(cluster.halted("n3"));
  EXPECT_EQ(cluster.store().commits(), commits);
}

// Plan: somebody puts an address that can't be used into n2's record. Each node says so once,
// counts it, and goes on.
TEST(CoreRecords, AMembersUnusableTextIsSaidOnceAndCounted) {
  Cluster cluster({});
  ASSERT_TRUE(cluster.Up()) << cluster.WhyNotSettled();
  MemberFact member = cluster.store().Member("n2");
  member.unusable_text = true;
  cluster.store().Put(member, member.lease);
  cluster.Run(seconds(1));
  int said = 0;
  for (const auto& [at, notice] : cluster.Asked<core::Notice>("n1")) {
    said += notice.text.find("the record of member n2 at revision") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(said, 1);
  EXPECT_EQ(cluster.core("n1").damaged_records(), 1u);
  EXPECT_EQ(cluster.violations(), kNone);
}

// Plan: failover is "never", and a record is damaged. Its leader, which lives, hears of it by a
// read alone. It replaces the record: nobody else may, and nobody else can have led since.
TEST(CoreRecords, ALiveLeaderReplacesADamageThatOnlyAReadShowed) {
  Cluster cluster({});
  ASSERT_TRUE(cluster.Up()) << cluster.WhyNotSettled();
  ConfigFact config = cluster.core("n1").view().config();
  config.schema = kConfigSchema;
  config.failover.policy = FailoverPolicy::kNever;
  cluster.store().Put(config);
  cluster.Run(seconds(5));
  const ShardId shard = cluster.ShardsOf("n1").front();
  cluster.HoldWatch("n1");
  cluster.DamageRecord(shard);
  cluster.store().Compact();
  cluster.HoldWatch("n1", false);
  cluster.Run(seconds(20));
  EXPECT_EQ(cluster.store().Record(shard).leader, "n1");
  EXPECT_EQ(cluster.LeaderOf(shard), "n1");
  EXPECT_EQ(cluster.violations(), std::vector<std::string>{});
}

// Plan: a lagging member answers a read, and a keepalive, with an old revision: the node does not
// halt.
TEST(CoreHalts, NotOnReadsOfALaggingMember) {
  Cluster cluster({});
  ASSERT_TRUE(cluster.Up());
  cluster.Deliver("n1", core::SnapshotRead{Snapshot{.revision = Revision{1}, .facts = {}}, 4711});
  cluster.Deliver("n1", core::ChangesSeen{Changes{.revision = Revision{2}, .facts = {}}});
  cluster.Run(seconds(5));
  EXPECT_FALSE(cluster.halted("n1"));
  EXPECT_TRUE(cluster.Settled()) << cluster.WhyNotSettled();
}

// Plan: n1 must halt, and sees in the same step that its session is gone, as after etcd was wiped.
// It begins no new session, so it does not say so.
TEST(CoreHalts, AndSaysNothingOfItsSession) {
  Cluster cluster({});
  ASSERT_TRUE(cluster.Up());
  std::vector<std::string> after;
  cluster.on_action = [&](const NodeId& node, const core::Action& action) {
    if (node != "n1") return;
    if (std::holds_alternative<core::HaltNode>(action)) after.push_back("halted");
    const auto* notice = std::get_if<core::Notice>(&action);
    if (notice != nullptr && notice->level == core::Notice::Level::kError) {
      after.push_back(notice->text);
    }
  };
  ConfigFact config = Config();
  config.schema = kConfigSchema + 1;
  cluster.store().Put(config);
  cluster.DeleteMember("n1");
  cluster.HoldWatch("n1", false);  // the watches hear of it
  cluster.Run(seconds(30));
  EXPECT_EQ(after, (std::vector<std::string>{"halted"}));
  EXPECT_TRUE(cluster.finished("n1"));
}

// Plan: n1 (which also plans moves) is claiming a dead node's shards, and none of that arrives,
// when it must halt. Then it is asked to drain. It ends, says that it did not drain and why, and
// writes nothing more: it neither repeats the claims nor resigns as balancer.
TEST(CoreHalts, AndADrainEndsWithoutAWrite) {
  Cluster cluster({});
  ASSERT_TRUE(cluster.Up());
  ASSERT_EQ(cluster.store().Balancer().leader, "n1");
  cluster.HoldWrites("n1");
  cluster.Kill("n3");
  cluster.store().Revoke(cluster.store().Member("n3").lease);
  cluster.HoldWatch("n1", false);  // the watches hear of it
  cluster.Run(milliseconds(1010));
  ASSERT_GT(cluster.core("n1").pending_writes(), 0u);
  std::vector<std::string> after;
  cluster.on_action = [&](const NodeId& node, const core::Action& action) {
    if (node != "n1") return;
    if (std::holds_alternative<core::HaltNode>(action)) after.push_back("halted");
    if (std::holds_alternative<core::SubmitWrite>(action)) after.push_back("a write");
    if (const auto* finished = std::get_if<core::Finished>(&action)) {
      after.push_back(finished->drained ? "drained" : "not drained");
    }
  };
  ConfigFact config = Config();
  config.schema = kConfigSchema + 1;
  cluster.store().Put(config);
  cluster.HoldWatch("n1", false);
  cluster.Run(milliseconds(20));
  cluster.Drain("n1");
  cluster.Run(seconds(10));
  EXPECT_EQ(after, (std::vector<std::string>{"halted", "not drained"}));
  ASSERT_TRUE(cluster.halted("n1"));
  EXPECT_NE(cluster.halted("n1")->message.find("newer version"), std::string::npos);
}

// Plan: etcd denies the first node the group's config: it is tried again every two seconds, and the
// group begins once it may.
TEST(CoreConfig, ADeniedOneIsTriedAgainAfterAPause) {
  Cluster cluster({});
  cluster.DenyWrites("n1", [](const Write& write) { return IsA<ConfigCreate>(write); });
  cluster.Start("n1");
  cluster.Run(seconds(1));
  EXPECT_EQ(cluster.Sent<ConfigCreate>("n1").size(), 1u);
  cluster.Run(seconds(4));
  EXPECT_EQ(cluster.Sent<ConfigCreate>("n1").size(), 3u);
  cluster.DenyWrites("n1", {});
  EXPECT_TRUE(cluster.RunUntil([&] { return cluster.LedBy("n1") == 12; }, seconds(6)));
}

// Plan: the watch is silent though others write: it is opened again, and the view catches up.
TEST(CoreWatch, OneThatStandsStillIsOpenedElsewhere) {
  Cluster cluster({});
  ASSERT_TRUE(cluster.Up());
  cluster.StickWatch("n1");
  cluster.store().Put(PolicyFact{
      .name = {PolicyKind::kPause}, .revision = {}, .present = true, .actor = "", .max_moves = 0});
  EXPECT_TRUE(cluster.RunUntil(
      [&] { return cluster.core("n1").view().policy({PolicyKind::kPause}) != nullptr; },
      seconds(8)));
  EXPECT_EQ(cluster.Asked<core::ReopenWatch>("n1").size(), 1u);
  EXPECT_TRUE(cluster.Asked<core::ReopenWatch>("n2").empty());
}

// Plan: a compaction, and answers to writes that overtake a snapshot: nobody loses a leadership.
TEST(CoreWatch, ACompactedWatchReadsAnew) {
  Cluster cluster({});
  ASSERT_TRUE(cluster.Up());
  cluster.HoldWatch("n1");
  cluster.Kill("n3");
  cluster.Run(seconds(12));
  cluster.store().Compact();
  cluster.HoldWatch("n1", false);
  EXPECT_TRUE(cluster.RunUntil([&] { return cluster.Settled(); }, seconds(20)))
      << cluster.WhyNotSettled();
  EXPECT_EQ(cluster.violations(), std::vector<std::string>{});
}

// Plan: without a session there is no confirmation to compare the watch with; a stuck watch must
// not keep a node from joining.
TEST(CoreWatch, AStuckOneDoesNotKeepANodeOut) {
  Cluster cluster({});
  ASSERT_TRUE(cluster.Up());
  cluster.Start("n2");
  cluster.Run(milliseconds(100));
  cluster.StickWatch("n2");
  EXPECT_TRUE(cluster.RunUntil([&] { return cluster.Settled(); }, seconds(60)))
      << cluster.WhyNotSettled();
}

// Plan: a paused node misses its deadline. If it is back before its lease expires, the terms are
// the same. If the pause is longer, it has lost everything.
TEST(CorePause, PastTheDeadlineNobodyLeads) {
  Cluster cluster({});
  ASSERT_TRUE(cluster.Up());
  cluster.Pause("n1");
  cluster.Run(seconds(20));
  EXPECT_EQ(cluster.LedBy("n1"), 0u);
  EXPECT_EQ(cluster.LedBy("n2") + cluster.LedBy("n3"), 12u);
  cluster.Resume("n1");
  EXPECT_TRUE(cluster.RunUntil([&] { return cluster.Settled(); }, seconds(30)))
      << cluster.WhyNotSettled();
  EXPECT_EQ(cluster.violations(), std::vector<std::string>{});
}

// Plan: an additional tick changes nothing.
TEST(CoreStep, ASecondTickDoesNothing) {
  Cluster cluster({});
  ASSERT_TRUE(cluster.Up());
  cluster.Run(milliseconds(100));
  cluster.core("n1").Step(cluster.now(), core::Tick{});
  EXPECT_TRUE(cluster.core("n1").Step(cluster.now(), core::Tick{}).actions.empty());
}

}  // namespace
}  // namespace baton::test
