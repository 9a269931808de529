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

  void Begin(bool listener, int nodes = 4) {
    ClusterOptions options;
    options.nodes = nodes;
    options.shards = kWarmShards;
    options.listener = listener;
    options.checks = nodes == 4;
    options.tune = [](core::CoreOptions& tuned) {
      tuned.self.zone = tuned.self.node <= "n2" ? "a" : "b";
      tuned.rebalance_delay = seconds(1);
      tuned.cooldown = seconds(0);
      tuned.stopped_sessions = tuned.proven_dead;
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
        prepared_.insert(key);
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
  std::set<std::pair<NodeId, ShardId>> prepared_;
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

// Plan: each shard has two standbys, and its leader dies. The first ready one in the order of the
// replicas takes over: for every other shard the second one, because the first is not ready any
// more.
TEST_F(StandbyDutiesTest, TheFirstReadyStandbyTakesOver) {
  Set(2);
  cluster_->Run(seconds(5));
  load_.reset();
  std::map<ShardId, NodeId> heirs;
  for (const ShardId shard : cluster_->ShardsOf("n2")) {
    const std::vector<NodeId> standbys = ViewOf("n1").StandbysOf(shard);
    ASSERT_EQ(standbys.size(), 2u);
    const bool first = heirs.size() % 2 == 0;
    if (!first) Say(standbys[0], shard, standing_.at({standbys[0], shard}), false);
    heirs[shard] = standbys[first ? 0 : 1];
  }
  ASSERT_EQ(heirs.size(), 6u);
  cluster_->Run(seconds(5));
  for (const auto& [shard, heir] : heirs) ASSERT_TRUE(ViewOf("n1").member(heir)->ReadyFor(shard));
  KillAndWait("n2");
  ASSERT_TRUE(cluster_->RunUntil([&] { return AllLed(); }, seconds(5)));
  for (const auto& [shard, heir] : heirs) {
    EXPECT_EQ(cluster_->store().Record(shard).leader, heir) << shard.value;
  }
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

// Plan: in a group of 60, a node says every 3 s for which shards it is ready. It takes back its
// word of one shard, and a moment later of another one.
TEST_F(StandbyDutiesTest, AWordTakenBackIsToldSoon) {
  Begin(true, 60);
  standing_.clear();
  leading_.clear();
  Set(8);
  cluster_->Run(seconds(10));
  NodeId node;
  std::vector<std::pair<ShardId, core::OperationId>> words;
  for (const auto& [where, operation] : standing_) {
    if (words.size() == 2) break;
    if (where.first != node) words.clear();
    node = where.first;
    words.emplace_back(where.second, operation);
  }
  ASSERT_EQ(words.size(), 2u);
  const auto said = [&](std::size_t word) {
    return cluster_->store().Member(node).ReadyFor(words[word].first);
  };
  const auto say = [&](std::size_t word, bool ready) {
    Say(node, words[word].first, words[word].second, ready);
  };
  ASSERT_TRUE(said(0) && said(1));
  say(0, false);
  cluster_->Run(milliseconds(100));
  EXPECT_FALSE(said(0)) << "the node has said nothing for long";
  say(1, false);
  cluster_->Run(milliseconds(1100));
  EXPECT_FALSE(said(1));
  say(1, true);
  cluster_->Run(milliseconds(2500));
  EXPECT_FALSE(said(1)) << "good news can wait";
  cluster_->Run(seconds(1));
  EXPECT_TRUE(said(1));
}

// Plan: in a group of 60, a node says every 3 s for which shards it is ready. Just after it has
// said so, it takes a shard over for which it was ready, and has to give it to another node. So it
// stands by for that shard again, and has to load it again: its record says so within a second.
TEST_F(StandbyDutiesTest, AStandbyThatBeginsAgainIsNotReadyFromBefore) {
  Begin(true, 60);
  standing_.clear();
  leading_.clear();
  Set(8);
  cluster_->Run(seconds(10));
  const ShardId shard{0};
  const std::vector<NodeId> standbys = ViewOf("n1").StandbysOf(shard);
  ASSERT_GE(standbys.size(), 2u);
  const NodeId& node = standbys.front();
  const std::pair here(node, shard);
  const auto other = std::find_if(standing_.begin(), standing_.end(), [&](const auto& entry) {
    return entry.first.first == node && entry.first.second != shard;
  });
  ASSERT_NE(other, standing_.end());
  Say(node, other->first.second, other->second, false);
  cluster_->Run(seconds(10));
  Say(node, other->first.second, other->second, true);
  cluster_->Run(milliseconds(50));
  load_.reset();
  cluster_->RevokeLeaseOf(cluster_->store().Record(shard).leader);
  ASSERT_TRUE(cluster_->RunUntil([&] { return leading_.contains(here); }, seconds(1)));
  core::TransferRequested ask;
  ask.shard = shard;
  ask.to = standbys.back();
  cluster_->Transfer(node, ask);
  ASSERT_TRUE(cluster_->RunUntil([&] { return standing_.contains(here); }, seconds(1)));
  EXPECT_TRUE(cluster_->store().Member(node).ReadyFor(shard)) << "from before";
  cluster_->Run(milliseconds(1100));
  EXPECT_FALSE(cluster_->store().Member(node).ReadyFor(shard));
}

// Plan: a node drains while a leader hears nothing of the moves, so they stay prepared. Meanwhile
// no standby is ready any more. Then the leader hears of it all.
TEST_F(StandbyDutiesTest, AMoveIsPreparedIfItsTargetIsNoReadyStandbyAnyMore) {
  Set(3);
  cluster_->Run(seconds(5));
  const NodeId balancer = ViewOf("n1").balancer().leader;
  const NodeId drained = balancer == "n2" ? "n3" : "n2";
  const std::vector<ShardId> shards = cluster_->ShardsOf(drained);
  cluster_->HoldWatch(drained);
  cluster_->Policy(balancer, {PolicyKind::kDrain, drained});
  const auto prepared = [&](ShardId shard) {
    const MoveFact* move = ViewOf(balancer).move(shard);
    return move != nullptr && move->phase == MovePhase::kPrepared;
  };
  ASSERT_TRUE(cluster_->RunUntil(
      [&] { return std::all_of(shards.begin(), shards.end(), prepared); }, seconds(5)));
  ASSERT_TRUE(prepared_.empty());
  load_.reset();
  for (const auto& [where, operation] : std::map(standing_)) {
    if (std::count(shards.begin(), shards.end(), where.second) > 0) {
      Say(where.first, where.second, operation, false);
    }
  }
  cluster_->Run(seconds(1));
  cluster_->HoldWatch(drained, false);
  ASSERT_TRUE(cluster_->RunUntil([&] { return cluster_->LedBy(drained) == 0; }, seconds(30)));
  ASSERT_TRUE(cluster_->RunUntil([&] { return AllLed(); }, seconds(5)));
  cluster_->Run(milliseconds(100));
  for (const ShardId shard : shards) {
    EXPECT_TRUE(prepared_.contains({cluster_->LeaderOf(shard), shard})) << shard.value;
  }
}

// Plan: etcd denies n1 the word that it has prepared a shard, and n1 ceases to be a ready standby
// meanwhile. It prepares the shard then, before it gets it.
TEST_F(StandbyDutiesTest, AMoveIsPreparedIfItsTargetCeasesToBeReadyBeforeItIsWritten) {
  Set(3);
  cluster_->Run(seconds(5));
  const ShardId shard = cluster_->ShardsOf("n2").front();
  ASSERT_TRUE(cluster_->core("n1").standby_duties().Ready(shard));
  cluster_->DenyWrites("n1", [](const Write& write) { return IsA<MoveBatch>(write); });
  cluster_->Transfer("n3", {.shard = shard, .to = "n1", .if_term = {}, .actor = {}});
  ASSERT_TRUE(
      cluster_->RunUntil([&] { return !cluster_->Sent<MoveBatch>("n1").empty(); }, seconds(1)));
  cluster_->Run(milliseconds(20));
  EXPECT_FALSE(prepared_.contains({"n1", shard})) << "it is ready";
  Say("n1", shard, standing_.at({"n1", shard}), false);
  cluster_->Run(milliseconds(100));
  EXPECT_TRUE(prepared_.contains({"n1", shard}));
  cluster_->DenyWrites("n1", {});
  EXPECT_TRUE(cluster_->RunUntil([&] { return cluster_->LeaderOf(shard) == "n1"; }, seconds(1)));
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

// Plan: the leader dies, and n4, the first standby of some of its shards, can't claim. The first in
// line for most shards is a node that is not ready for these. Their second standby takes over.
TEST_F(StandbyDutiesTest, EachShardHasALineOfItsOwn) {
  Set(2);
  cluster_->Run(seconds(5));
  std::map<ShardId, std::vector<NodeId>> ready;
  for (const ShardId shard : cluster_->ShardsOf("n2")) ready[shard] = ReadyFor(shard);
  load_.reset();
  cluster_->HoldWrites("n4");
  KillAndWait("n2");
  ASSERT_TRUE(cluster_->RunUntil([&] { return AllLed(); }, seconds(8)));
  for (const auto& [shard, nodes] : ready) {
    const NodeId leader = cluster_->store().Record(shard).leader;
    EXPECT_NE(std::find(nodes.begin(), nodes.end(), leader), nodes.end())
        << shard.value << " is led by " << leader;
    EXPECT_NE(leader, "n4");
  }
  cluster_->LetWrites("n4");
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

// A node that takes its word back again and again writes no more often than others in the end.
TEST(ReadyPace, BadNewsHurriesAtFirst) {
  core::ReadyPace pace;
  TimePoint now{};
  EXPECT_EQ(pace.NotBefore(false), now);
  pace.Told(now, false, 100, 2000);
  EXPECT_EQ(pace.NotBefore(false), now + seconds(7)) << "5 s for the members, 2 s for the list";
  for (const int pause : {1, 2, 4, 7, 7}) {
    EXPECT_EQ(pace.NotBefore(true), now + seconds(pause));
    now = pace.NotBefore(true);
    pace.Told(now, true, 100, 2000);
  }
  pace.Told(now += seconds(60), true, 3, 0);
  EXPECT_EQ(pace.NotBefore(true), now + seconds(1));
  EXPECT_EQ(pace.NotBefore(false), now + seconds(1));
}

// Plan: n1 dies, and a lock delay keeps its shards from all others. n1 starts again, and its state
// directory proves that its earlier process has ended. It takes its shards back at once: the
// standbys, which must wait, are not passed over first.
TEST_F(StandbyDutiesTest, ARestartedNodeDoesNotWaitForStandbysThatMustWait) {
  Set(1);
  ConfigFact config = std::get<ConfigFact>(cluster_->store().Get("config"));
  config.failover.lock_delay = seconds(60);
  cluster_->store().Put(config);
  cluster_->Run(seconds(5));
  const std::size_t led = cluster_->LedBy("n1");
  ASSERT_GT(led, 0u);
  ASSERT_FALSE(ReadyFor(cluster_->ShardsOf("n1").front()).empty());
  KillAndWait("n1");
  cluster_->Run(seconds(1));
  EXPECT_FALSE(AllLed());
  cluster_->Start("n1", true);
  EXPECT_TRUE(cluster_->RunUntil([&] { return cluster_->LedBy("n1") == led; }, seconds(1)));
  cluster_->Run(seconds(1));  // each is reported once `acquired` has returned
  const auto& seen = cluster_->transitions();
  EXPECT_EQ(std::count_if(seen.begin(), seen.end(),
                          [](const auto& entry) {
                            return entry.first == "n1" &&
                                   entry.second.cause.kind == CauseKind::kTakenBack;
                          }),
            static_cast<std::ptrdiff_t>(led));
}

// Plan: n1 leads all shards and can't be a replica, because it has no weight. It moves to another
// zone, and with it which replica has nothing to do.
TEST(StandbyView, AnotherZoneOfALeaderIsAChangeOfItsStandbys) {
  constexpr std::uint32_t kCount = 40;
  core::View view(kCount, "n1");
  ConfigFact config;
  config.revision = Revision{2};
  config.present = true;
  config.shards = kCount;
  PlacementRule rule;
  rule.standbys = 2;
  rule.spread = "zone";
  config.placement = {rule};
  std::vector<Fact> facts = {config};
  MemberFact leader;
  for (int i = 6; i >= 1; --i) {
    MemberFact& member = leader;
    member.node = "n" + std::to_string(i);
    member.revision = Revision{10 + i};
    member.present = true;
    member.lease = member.session = SessionId{i};
    member.zone = std::string(1, static_cast<char>('a' + i % 3));
    member.weight = i == 1 ? 0 : 1;
    facts.emplace_back(member);
  }
  for (std::uint32_t s = 0; s < kCount; ++s) {
    ShardRecordFact fact{.shard = ShardId{s}, .record = {}};
    fact.record.present = true;
    fact.record.leader = "n1";
    fact.record.session = SessionId{1};
    fact.record.revision = Revision{20 + s};
    facts.emplace_back(fact);
  }
  view.Merge(Snapshot{.revision = Revision{100}, .facts = facts}, TimePoint{});
  view.TakeChanges();
  std::vector<std::vector<NodeId>> before;
  for (std::uint32_t s = 0; s < kCount; ++s) before.push_back(view.StandbysOf(ShardId{s}));
  leader.revision = Revision{101};
  leader.zone = "c";
  view.Merge(Changes{.revision = Revision{101}, .facts = {leader}}, TimePoint{});
  const core::ViewChanges changes = view.TakeChanges();
  std::size_t differ = 0;
  for (std::uint32_t s = 0; s < kCount; ++s) {
    if (view.StandbysOf(ShardId{s}) == before[s]) continue;
    ++differ;
    EXPECT_TRUE(std::binary_search(changes.standbys.begin(), changes.standbys.end(), ShardId{s}));
  }
  EXPECT_GT(differ, 0u);
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
