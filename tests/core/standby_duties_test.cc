// Standbys in a group: who stands by for what, and who takes over when a leader dies.
#include "core/standby_duties.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/cluster.h"

namespace baton::test {
namespace {

using core::CallbackKind;

constexpr std::uint32_t kWarmShards = 24;

// Four nodes, and an application on each that is ready a moment after it began to stand by.
class StandbyDutiesTest : public ::testing::Test {
 protected:
  void SetUp() override { Begin(true); }
  void TearDown() override { EXPECT_EQ(cluster_->violations(), kNone); }

  void Begin(bool listener) {
    ClusterOptions options;
    options.nodes = 4;
    options.shards = kWarmShards;
    options.listener = listener;
    options.tune = [](core::CoreOptions& tuned) {
      tuned.self.zone = tuned.self.node <= "n2" ? "a" : "b";
      tuned.rebalance_delay = seconds(1);
      tuned.cooldown = seconds(0);
    };
    cluster_ = std::make_unique<Cluster>(options);
    cluster_->on_action = [this](const NodeId& node, const core::Action& action) {
      if (const auto* callback = std::get_if<core::RunCallback>(&action)) Note(node, *callback);
    };
    ASSERT_TRUE(cluster_->Up()) << cluster_->WhyNotSettled();
  }

  void Note(const NodeId& node, const core::RunCallback& callback) {
    const auto key = std::pair(node, callback.shard);
    switch (callback.kind) {
      case CallbackKind::kStandby:
        EXPECT_FALSE(standing_.contains(key)) << node << " stands by already";
        EXPECT_FALSE(leading_.contains(key)) << node << " leads";
        standing_[key] = callback.operation;
        ++begun_;
        if (load_) {
          cluster_->After(*load_, [=, this] { Say(node, callback.shard, callback.operation); });
        }
        break;
      case CallbackKind::kStandbyEnded: EXPECT_EQ(standing_.erase(key), 1u); break;
      case CallbackKind::kAcquired:
        standing_.erase(key);
        leading_.insert(key);
        break;
      case CallbackKind::kLost: leading_.erase(key); break;
      case CallbackKind::kPrepare:
        prepared_while_ready_ |= cluster_->core(node).standby_duties().Ready(callback.shard);
        break;
      default: break;
    }
  }
  void Say(const NodeId& node, ShardId shard, core::OperationId operation, bool ready = true) {
    if (!cluster_->Running(node)) return;
    cluster_->Deliver(node, core::StandbysReadySaid{{{operation, shard, ready}}});
  }

  void Set(std::uint32_t standbys, const std::string& spread = "") {
    ConfigFact config = std::get<ConfigFact>(cluster_->store().Get("config"));
    config.schema = kPlacementSchema;
    config.placement.clear();
    PlacementRule rule;
    rule.standbys = standbys;
    rule.spread = spread;
    if (standbys > 0) config.placement.push_back(rule);
    cluster_->store().Put(config);
    cluster_->HoldWatch("n1", false);  // the watches hear of it
  }
  const core::View& ViewOf(const NodeId& node) const { return cluster_->core(node).view(); }
  // Which nodes' records in etcd say that they are ready for the shard.
  std::vector<NodeId> ReadyFor(ShardId shard) const {
    std::vector<NodeId> ready;
    for (const NodeId& node : cluster_->names()) {
      const MemberFact member = cluster_->store().Member(node);
      if (member.present && member.ReadyFor(shard)) ready.push_back(node);
    }
    return ready;
  }
  // Whether each shard is led by a node that lives.
  bool AllLed() const {
    for (std::uint32_t s = 0; s < kWarmShards; ++s) {
      const RecordFact record = cluster_->store().Record(ShardId{s});
      if (!cluster_->store().Live({record.leader, record.session})) return false;
    }
    return true;
  }
  void KillAndWait(const NodeId& node) {
    cluster_->Kill(node);
    std::erase_if(standing_, [&](const auto& entry) { return entry.first.first == node; });
    std::erase_if(leading_, [&](const auto& entry) { return entry.first == node; });
    ASSERT_TRUE(
        cluster_->RunUntil([&] { return !cluster_->store().Member(node).present; }, seconds(20)));
  }

  std::unique_ptr<Cluster> cluster_;
  std::optional<Duration> load_ = milliseconds(300);
  std::map<std::pair<NodeId, ShardId>, core::OperationId> standing_;
  std::set<std::pair<NodeId, ShardId>> leading_;
  int begun_ = 0;
  bool prepared_while_ready_ = false;
};

TEST_F(StandbyDutiesTest, EachShardHasTheStandbysOfItsRule) {
  Set(2, "zone");
  cluster_->Run(seconds(5));
  for (std::uint32_t s = 0; s < kWarmShards; ++s) {
    const ShardId shard{s};
    std::vector<NodeId> standbys = ViewOf("n1").StandbysOf(shard);
    EXPECT_EQ(standbys.size(), 2u) << s;
    std::sort(standbys.begin(), standbys.end());
    EXPECT_EQ(ReadyFor(shard), standbys) << s;
    for (const NodeId& node : standbys) EXPECT_TRUE(standing_.contains({node, shard})) << s;
  }
  EXPECT_EQ(standing_.size(), 2u * kWarmShards);
  Set(0);
  cluster_->Run(seconds(5));
  EXPECT_TRUE(standing_.empty());
  EXPECT_TRUE(ReadyFor(ShardId{0}).empty());
}

// Plan: a leader dies. Each of its shards goes to a node that was ready for it, whatever the
// targets say. Then the balancer evens the group out.
TEST_F(StandbyDutiesTest, ReadyStandbysTakeOverFromADeadLeader) {
  Set(1);
  cluster_->Run(seconds(5));
  const std::vector<ShardId> shards = cluster_->ShardsOf("n2");
  ASSERT_EQ(shards.size(), 6u);
  std::map<ShardId, std::vector<NodeId>> ready;
  for (const ShardId shard : shards) ready[shard] = ReadyFor(shard);
  load_.reset();
  KillAndWait("n2");
  ASSERT_TRUE(cluster_->RunUntil([&] { return AllLed(); }, seconds(5)));
  for (const ShardId shard : shards) {
    EXPECT_EQ(ready[shard], std::vector{cluster_->store().Record(shard).leader}) << shard.value;
  }
  EXPECT_TRUE(cluster_->RunUntil([&] { return cluster_->Settled(); }, seconds(30)))
      << cluster_->WhyNotSettled();
}

// Plan: nobody is ready, so the vacancies are divided as without standbys.
TEST_F(StandbyDutiesTest, WithoutAReadyStandbyTheTargetsDecide) {
  load_.reset();
  Set(1);
  cluster_->Run(seconds(5));
  KillAndWait("n2");
  cluster_->Run(seconds(1));
  for (const char* const node : {"n1", "n3", "n4"}) EXPECT_EQ(cluster_->LedBy(node), 8u) << node;
}

TEST_F(StandbyDutiesTest, APlannedMoveToAReadyStandbyIsNotPrepared) {
  Set(3);
  cluster_->Run(seconds(5));
  cluster_->Policy("n1", {PolicyKind::kDrain, "n2"});
  ASSERT_TRUE(cluster_->RunUntil([&] { return cluster_->LedBy("n2") == 0; }, seconds(30)));
  EXPECT_FALSE(prepared_while_ready_);
  for (const char* const node : {"n1", "n3", "n4"}) {
    for (const auto& [at, callback] : cluster_->Asked<core::RunCallback>(node)) {
      EXPECT_NE(callback.kind, CallbackKind::kPrepare) << node;
    }
  }
}

// Plan: the application still loads for a standby that has ended, and says so later.
TEST_F(StandbyDutiesTest, AWordOfAnEarlierStandbyDoesNotCount) {
  load_.reset();
  Set(1);
  cluster_->Run(seconds(5));
  ASSERT_FALSE(standing_.empty());
  const auto [where, operation] = *standing_.begin();
  Set(0);
  cluster_->Run(seconds(2));
  Say(where.first, where.second, operation);
  Set(1);
  cluster_->Run(seconds(2));
  ASSERT_TRUE(standing_.contains(where));
  Say(where.first, where.second, operation);
  cluster_->Run(seconds(2));
  EXPECT_TRUE(ReadyFor(where.second).empty());
  Say(where.first, where.second, standing_[where]);
  cluster_->Run(seconds(2));
  EXPECT_EQ(ReadyFor(where.second), std::vector{where.first});
}

TEST_F(StandbyDutiesTest, ANodeThatLeavesEndsItsStandbys) {
  Set(1);
  cluster_->Run(seconds(5));
  cluster_->Drain("n3");
  ASSERT_TRUE(cluster_->RunUntil([&] { return cluster_->finished("n3"); }, seconds(30)));
  EXPECT_TRUE(std::none_of(standing_.begin(), standing_.end(),
                           [](const auto& entry) { return entry.first.first == "n3"; }));
}

// Plan: a session is revoked. What the node has loaded for shards of others is not lost by that.
TEST_F(StandbyDutiesTest, StandbysOutliveASession) {
  Set(1);
  cluster_->Run(seconds(5));
  std::vector<ShardId> before;
  for (const auto& [where, operation] : standing_) {
    if (where.first == "n4") before.push_back(where.second);
  }
  ASSERT_FALSE(before.empty());
  load_.reset();
  const auto kept = standing_;
  cluster_->RevokeLeaseOf("n4");
  cluster_->Run(seconds(10));
  for (const ShardId shard : before) {
    const auto now = standing_.find({"n4", shard});
    if (now == standing_.end()) continue;  // n4 leads it by now, or another node's part has changed
    EXPECT_EQ(now->second, kept.at({"n4", shard})) << shard.value;
    EXPECT_EQ(ReadyFor(shard), std::vector<NodeId>{"n4"}) << shard.value;
  }
}

// Plan: many words come at once. Each node writes its record a few times, not once a word.
TEST_F(StandbyDutiesTest, ReadinessIsWrittenOnceASecond) {
  const auto count = [&] {
    std::size_t updates = 0;
    for (const NodeId& node : cluster_->names()) {
      updates += cluster_->Sent<MemberUpdate>(node).size();
    }
    return updates;
  };
  const std::size_t before = count();
  Set(3);
  cluster_->Run(seconds(10));
  EXPECT_EQ(begun_, 3 * static_cast<int>(kWarmShards));
  EXPECT_LE(count() - before, 3 * cluster_->names().size());
  const std::size_t quiet = count();
  cluster_->Run(seconds(60));
  EXPECT_EQ(count(), quiet);
}

// Plan: the leader dies while its first standby stands still. The second one takes over, and no
// node that is not ready.
TEST_F(StandbyDutiesTest, TheNextReadyStandbyTakesOverForOneThatStalls) {
  Set(2);
  cluster_->Run(seconds(5));
  std::map<ShardId, std::vector<NodeId>> ready;
  for (const ShardId shard : cluster_->ShardsOf("n2")) ready[shard] = ReadyFor(shard);
  cluster_->Pause("n1");
  KillAndWait("n2");
  ASSERT_TRUE(cluster_->RunUntil([&] { return AllLed(); }, seconds(8)));
  for (const auto& [shard, nodes] : ready) {
    const NodeId leader = cluster_->store().Record(shard).leader;
    EXPECT_NE(std::find(nodes.begin(), nodes.end(), leader), nodes.end())
        << shard.value << " is led by " << leader;
    EXPECT_NE(leader, "n1");
  }
  cluster_->Resume("n1");
  cluster_->Run(seconds(1));
}

// Nothing has to be loaded, so nobody has to say so.
TEST_F(StandbyDutiesTest, WithoutAListenerStandbysAreReadyAtOnce) {
  Begin(false);
  Set(1);
  cluster_->Run(seconds(3));
  for (std::uint32_t s = 0; s < kWarmShards; ++s) {
    EXPECT_EQ(ReadyFor(ShardId{s}), ViewOf("n1").StandbysOf(ShardId{s})) << s;
  }
}

// A change of readiness is no change of the members: nothing else is computed again.
TEST(StandbyView, AChangeOfReadinessAloneIsNoChangeOfMembers) {
  core::View view(4, "n1");
  MemberFact member;
  member.node = "n2";
  member.revision = member.create_revision = Revision{5};
  member.present = true;
  member.lease = member.session = SessionId{7};
  view.Merge(Snapshot{.revision = Revision{5}, .facts = {member}}, TimePoint{});
  view.TakeChanges();
  member.revision = Revision{6};
  member.ready = {ShardId{1}, ShardId{3}, ShardId{9}};
  view.Merge(Changes{.revision = Revision{6}, .facts = {member}}, TimePoint{});
  core::ViewChanges changes = view.TakeChanges();
  EXPECT_FALSE(changes.members);
  EXPECT_EQ(changes.standbys, (std::vector{ShardId{1}, ShardId{3}}));
  member.revision = Revision{7};
  member.ready = {ShardId{3}};
  member.weight = 2;
  view.Merge(Changes{.revision = Revision{7}, .facts = {member}}, TimePoint{});
  changes = view.TakeChanges();
  EXPECT_TRUE(changes.members);
  EXPECT_EQ(changes.standbys, std::vector{ShardId{1}});
}

}  // namespace
}  // namespace baton::test
