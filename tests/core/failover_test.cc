// Failover as a setting of the group: who may claim what, and when, if a leader is gone.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/cluster.h"
#include "core/may_claim.h"

namespace baton::test {
namespace {

constexpr std::uint32_t kShards = 12;

class FailoverTest : public ::testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(cluster_->violations(), kNone); }
  void Up(const FailoverSettings& failover, int nodes = 3) {
    ClusterOptions options;
    options.nodes = nodes;
    options.shards = kShards;
    options.tune = [this](core::CoreOptions& tuned) {
      tuned.self.directory = directories_.contains(tuned.self.node)
                                 ? directories_[tuned.self.node]
                                 : std::hash<NodeId>{}(tuned.self.node) | 1;
      tuned.stopped_sessions = tuned.proven_dead;
      if (weights_.contains(tuned.self.node)) tuned.self.weight = weights_[tuned.self.node];
      tuned.rebalance_delay = seconds(1);
      tuned.cooldown = seconds(0);
      tuned.release_timeout = seconds(5);
    };
    cluster_ = std::make_unique<Cluster>(options);
    ASSERT_TRUE(cluster_->Up()) << cluster_->WhyNotSettled();
    Set(failover);
    cluster_->Run(seconds(5));
    before_ = Leaders();
  }
  void Set(const FailoverSettings& failover) {
    ConfigFact config = cluster_->core(cluster_->names().back()).view().config();
    config.schema = kConfigSchema;
    config.failover = failover;
    cluster_->store().Put(config);
  }
  std::map<ShardId, NodeId> Leaders() const {
    std::map<ShardId, NodeId> leaders;
    for (std::uint32_t s = 0; s < kShards; ++s) {
      leaders[ShardId{s}] = cluster_->LeaderOf(ShardId{s});
    }
    return leaders;
  }
  std::size_t Vacant() const {
    const auto leaders = Leaders();
    return static_cast<std::size_t>(std::count_if(
        leaders.begin(), leaders.end(), [](const auto& entry) { return entry.second.empty(); }));
  }
  // Until etcd has ended its session.
  void KillAndForget(const NodeId& node) {
    cluster_->Kill(node);
    ASSERT_TRUE(
        cluster_->RunUntil([&] { return !cluster_->store().Member(node).present; }, seconds(20)));
  }
  bool AllLed(Duration most) {
    return cluster_->RunUntil([&] { return Vacant() == 0; }, most);
  }

  std::map<NodeId, std::uint64_t> directories_;
  std::map<NodeId, std::uint32_t> weights_;
  std::unique_ptr<Cluster> cluster_;
  std::map<ShardId, NodeId> before_;
};

constexpr FailoverSettings kNever{.policy = FailoverPolicy::kNever};
constexpr FailoverSettings kAfter20s{.policy = FailoverPolicy::kAfter, .delay = seconds(20)};
constexpr FailoverSettings kLock5s{.lock_delay = seconds(5)};

// Plan: a node dies. Its shards wait for it, nothing moves, and it takes all of them back.
TEST_F(FailoverTest, NeverKeepsShardsForTheNodeThatLedThem) {
  Up(kNever);
  KillAndForget("n1");
  cluster_->Run(seconds(120));
  EXPECT_EQ(Vacant(), 4u);
  EXPECT_EQ(cluster_->LedBy("n2"), 4u);
  EXPECT_EQ(cluster_->LedBy("n3"), 4u);
  cluster_->Start("n1");
  ASSERT_TRUE(AllLed(seconds(20)));
  EXPECT_EQ(Leaders(), before_);
}

// Plan: the node comes back with an empty disk. It leads nothing of what it led.
TEST_F(FailoverTest, NeverWantsTheSameStateDirectory) {
  Up(kNever);
  KillAndForget("n1");
  directories_["n1"] = 4711;
  cluster_->Start("n1");
  cluster_->Run(seconds(60));
  EXPECT_EQ(Vacant(), 4u);
  for (const auto& [shard, leader] : before_) {
    EXPECT_EQ(cluster_->LeaderOf(shard).empty(), leader == "n1") << shard.value;
  }
}

// Plan: a node without a state directory dies and comes back: nothing shows that it is the same.
TEST_F(FailoverTest, NeverTakesNothingBackWithoutAStateDirectory) {
  directories_["n1"] = 0;
  Up(kNever);
  KillAndForget("n1");
  cluster_->Start("n1");
  cluster_->Run(seconds(60));
  EXPECT_EQ(Vacant(), 4u);
}

// Plan: somebody writes the config over while a node is dead. What it said last still holds.
TEST_F(FailoverTest, ABadConfigChangesNothing) {
  Up(kNever);
  KillAndForget("n1");
  ConfigFact bad = cluster_->core("n2").view().config();
  bad.failover = {};
  ++bad.cluster_id;
  cluster_->store().Put(bad);
  cluster_->Run(seconds(1));
  bad.shards = 99;
  cluster_->store().Put(bad);
  cluster_->Run(seconds(1));
  cluster_->store().Delete("config");
  cluster_->Run(seconds(60));
  EXPECT_EQ(Vacant(), 4u);
  EXPECT_EQ(cluster_->core("n2").view().failover(), kNever);
  EXPECT_EQ(cluster_->core("n2").view().config().failover, kNever);
}

// Plan: while a node is away it is given weight 0, or an operator's order to drain. It takes back
// what it led, because nobody else may. What it then keeps or gives away is as ever.
TEST_F(FailoverTest, NeverGivesAnOwnerItsShardsBackThatMayLeadNoOthers) {
  for (const bool drained : {false, true}) {
    SCOPED_TRACE(drained);
    weights_.clear();
    Up(kNever);
    KillAndForget("n1");
    if (drained) {
      cluster_->store().Put(
          PolicyFact{.name = {PolicyKind::kDrain, "n1"}, .present = true, .actor = "alice"});
    } else {
      weights_["n1"] = 0;
    }
    cluster_->Start("n1");
    std::set<NodeId> claimed_by;
    const auto note = [&] {
      for (const auto& [shard, leader] : Leaders()) {
        if (!leader.empty() && before_[shard] == "n1") claimed_by.insert(leader);
      }
      return Vacant() == 0;
    };
    ASSERT_TRUE(cluster_->RunUntil(note, seconds(20)));
    EXPECT_EQ(claimed_by.count("n1"), 1u);
    std::size_t claims = 0;
    for (const char* other : {"n2", "n3"}) {
      for (const auto& [at, batch] : cluster_->Sent<ClaimBatch>(other)) {
        for (const Claim& claim : batch.claims) {
          claims += claim.shard && claim.previous == "n1" ? 1 : 0;
        }
      }
    }
    EXPECT_EQ(claims, 0u) << "others get such shards by transfers alone";
    const auto emptied = [&] { return cluster_->LedBy("n1") == 0 && Vacant() == 0; };
    EXPECT_TRUE(cluster_->RunUntil(emptied, seconds(60)));
  }
}

// Plan: a record of a dead node is damaged. Nobody knows whether it may be replaced, so nobody
// does.
TEST_F(FailoverTest, NeverReplacesNoDamagedRecordOfTheDead) {
  Up(kNever);
  const ShardId shard = cluster_->ShardsOf("n1").front();
  KillAndForget("n1");
  cluster_->DamageRecord(shard);
  cluster_->Run(seconds(120));
  EXPECT_EQ(Vacant(), 4u);
}

// Plan: a node stops in order, and is started again. It takes back its own, and nothing else moves.
TEST_F(FailoverTest, AStopKeepsTheShardsForTheNode) {
  for (const FailoverSettings& failover : {kNever, kAfter20s}) {
    SCOPED_TRACE(ToString(failover.policy));
    Up(failover);
    cluster_->Drain("n1");
    ASSERT_TRUE(cluster_->RunUntil([&] { return cluster_->finished("n1"); }, seconds(20)));
    EXPECT_TRUE(cluster_->drained("n1"));
    const std::string waits = "this node's shards (4) will wait for it, as failover is '" +
                              std::string(ToString(failover.policy)) + "'";
    const auto said = cluster_->Asked<core::Notice>("n1");
    EXPECT_EQ(1, std::count_if(said.begin(), said.end(),
                               [&](const auto& each) { return each.second.text == waits; }));
    cluster_->Run(seconds(10));
    EXPECT_EQ(Vacant(), 4u);
    EXPECT_EQ(cluster_->LedBy("n2"), 4u);
    cluster_->Start("n1");
    ASSERT_TRUE(AllLed(seconds(10)));
    cluster_->Run(seconds(10));
    EXPECT_EQ(Leaders(), before_);
  }
}

// Plan: an operator drains a node. Its shards move, in order, under every policy.
TEST_F(FailoverTest, AnOrderedDrainEmptiesANode) {
  for (const FailoverSettings& failover : {kNever, kAfter20s, kLock5s}) {
    SCOPED_TRACE(ToString(failover.policy));
    Up(failover);
    cluster_->Policy("n2", {PolicyKind::kDrain, "n1"});
    const auto emptied = [&] { return cluster_->LedBy("n1") == 0 && Vacant() == 0; };
    EXPECT_TRUE(cluster_->RunUntil(emptied, seconds(20)));
  }
}

// Plan: a node dies and comes back within the delay. It takes its shards back; nothing moves.
TEST_F(FailoverTest, AfterMovesNothingIfTheNodeIsBackInTime) {
  Up(kAfter20s);
  KillAndForget("n1");
  cluster_->Run(seconds(18));
  EXPECT_EQ(Vacant(), 4u);
  cluster_->Start("n1");
  ASSERT_TRUE(AllLed(seconds(10)));
  cluster_->Run(seconds(60));
  EXPECT_EQ(Leaders(), before_);
}

// Plan: a node dies and stays away. Its shards wait for the delay, and are claimed then, also by a
// node that has joined meanwhile. One mark is written.
TEST_F(FailoverTest, AfterTheDelayAnyNodeMayClaim) {
  Up(kAfter20s);
  KillAndForget("n1");
  const TimePoint since = cluster_->now();
  cluster_->Run(seconds(10));
  cluster_->Start("n4");
  cluster_->Run(seconds(9));
  EXPECT_EQ(Vacant(), 4u);
  ASSERT_TRUE(AllLed(seconds(20)));
  EXPECT_LT(cluster_->now() - since, seconds(22));
  EXPECT_EQ(cluster_->LedBy("n4"), 4u);
  std::size_t marks = 0;
  for (const NodeId& node : cluster_->names()) {
    if (cluster_->Running(node)) marks += cluster_->Sent<RipeMark>(node).size();
  }
  EXPECT_EQ(marks, 1u);
}

// Plan: a node is away for longer than the delay, and nobody claims its shards. Its mark stays,
// also while one of its shards is left. Then the last is claimed, and the mark is deleted, by one
// write.
TEST_F(FailoverTest, AMarkIsDeletedOnceItMarksNothing) {
  weights_["n2"] = weights_["n3"] = 0;
  Up(kAfter20s);
  ASSERT_EQ(cluster_->LedBy("n1"), kShards);
  const ShardId last{0};
  KillAndForget("n1");
  cluster_->Run(seconds(60));
  ASSERT_TRUE(cluster_->store().Has("ripe/n1"));
  const RecordFact kept = cluster_->store().Record(last);
  Set({.policy = FailoverPolicy::kNever});
  cluster_->DamageRecord(last);  // so that it is not claimed with the others
  Set(kAfter20s);
  cluster_->store().Put(ShardRecordFact{.shard = last, .record = kept});
  cluster_->Run(seconds(15));
  EXPECT_TRUE(cluster_->store().Has("ripe/n1"));
  weights_.erase("n3");
  cluster_->Stop("n3");
  ASSERT_TRUE(cluster_->RunUntil([&] { return cluster_->finished("n3"); }, seconds(20)));
  cluster_->Start("n3");
  ASSERT_TRUE(AllLed(seconds(40)));
  ASSERT_TRUE(cluster_->RunUntil([&] { return !cluster_->store().Has("ripe/n1"); }, seconds(30)));
  cluster_->Run(seconds(60));
  std::size_t deleted = 0;
  for (const char* node : {"n2", "n3"}) {
    for (const auto& [at, mark] : cluster_->Sent<RipeMark>(node)) {
      deleted += mark.up_to.value == 0 ? 1 : 0;
    }
  }
  EXPECT_EQ(deleted, 1u);
}

// Plan: a node of long standing takes its time to stop: one release lasts longer than the settle
// time. What it has resigned by then stays its own.
TEST_F(FailoverTest, AfterCountsFromAResignationWhileTheNodeIsStillThere) {
  Up(kAfter20s);
  cluster_->Run(seconds(60));
  const ShardId shard = cluster_->ShardsOf("n1").front();
  cluster_->Behave("n1", core::CallbackKind::kReleasing, shard, Behaviour::kHangs);
  cluster_->Drain("n1");
  cluster_->Run(seconds(4));
  EXPECT_EQ(Vacant(), 3u);
  EXPECT_EQ(cluster_->LedBy("n1"), 1u);
  ASSERT_TRUE(cluster_->RunUntil([&] { return cluster_->finished("n1"); }, seconds(20)));
  cluster_->Start("n1");
  ASSERT_TRUE(AllLed(seconds(10)));
  EXPECT_EQ(Leaders(), before_);
}

// Plan: a node crashes every 12 s after it is back. That is no return: its shards go to others.
TEST_F(FailoverTest, ACrashLoopIsNoReturn) {
  Up(kAfter20s);
  const auto moved = [&] { return cluster_->LedBy("n2") + cluster_->LedBy("n3") == kShards; };
  for (int round = 0; round < 4 && !moved(); ++round) {
    cluster_->Kill("n1");
    cluster_->Run(seconds(12));
    if (moved()) break;
    cluster_->Start("n1");
    cluster_->Run(seconds(3));
  }
  EXPECT_TRUE(moved());
}

// Plan: while a wait runs, balance rests, although a node has joined that should have more than
// what waits.
TEST_F(FailoverTest, BalanceRestsWhileANodeIsAwaited) {
  weights_["n4"] = 3;
  Up({.policy = FailoverPolicy::kAfter, .delay = seconds(60)});
  KillAndForget("n1");
  cluster_->Start("n4");
  cluster_->Run(seconds(40));
  EXPECT_EQ(cluster_->LedBy("n4"), 0u);
  ASSERT_TRUE(cluster_->RunUntil([&] { return cluster_->LedBy("n4") == 7u; }, seconds(60)));
}

// Plan: a node dies, and nothing proves it. Nobody claims its shards before the lock delay is over.
TEST_F(FailoverTest, ALockDelayHoldsAfterADeathWithoutProof) {
  Up(kLock5s);
  KillAndForget("n1");
  cluster_->Run(milliseconds(4'900));
  EXPECT_EQ(Vacant(), 4u);
  EXPECT_TRUE(AllLed(seconds(3)));
}

// Plan: the same, but the node's next process proves the death, or the dead one's guard does.
TEST_F(FailoverTest, AProofEndsTheLockDelay) {
  Up(kLock5s);
  cluster_->Kill("n1");
  cluster_->Start("n1", true);
  EXPECT_TRUE(AllLed(seconds(3)));
  const SessionRef session{"n2", cluster_->store().Member("n2").session};
  cluster_->Kill("n2");
  cluster_->store().Execute(SessionEnd{session});
  EXPECT_TRUE(AllLed(seconds(3)));
}

// Plan: a node stops in order. Its shards are handed over without a delay.
TEST_F(FailoverTest, AnOrderlyStopMeetsNoLockDelay) {
  Up(kLock5s);
  cluster_->Drain("n1");
  ASSERT_TRUE(cluster_->RunUntil([&] { return cluster_->finished("n1"); }, seconds(20)));
  EXPECT_EQ(Vacant(), 0u);
  cluster_->Run(seconds(1));
  EXPECT_EQ(cluster_->TransitionsOf(Reason::kShutdown).size(), 4u);
}

// Plan: the last node stops, and is started again. It had released its shards, so it need not wait.
TEST_F(FailoverTest, WhatWasReleasedMeetsNoLockDelay) {
  Up(kLock5s, 1);
  cluster_->Drain("n1");
  ASSERT_TRUE(cluster_->RunUntil([&] { return cluster_->finished("n1"); }, seconds(20)));
  for (std::uint32_t s = 0; s < kShards; ++s) {
    const RecordFact record = cluster_->store().Record(ShardId{s});
    EXPECT_TRUE(record.released) << record.leader << ", " << record.resigned_by;
  }
  cluster_->Start("n1");
  EXPECT_TRUE(AllLed(seconds(4)));
}

// Plan: a drained node's application does not answer `releasing` of one shard. That shard is given
// up, without a word that it was released, and waits.
TEST_F(FailoverTest, ALateReleaseMeetsTheLockDelay) {
  Up(kLock5s);
  const ShardId shard = cluster_->ShardsOf("n1").front();
  cluster_->Behave("n1", core::CallbackKind::kReleasing, shard, Behaviour::kHangs);
  cluster_->Policy("n2", {PolicyKind::kDrain, "n1"});
  ASSERT_TRUE(cluster_->RunUntil([&] { return cluster_->LedBy("n1") == 0u; }, seconds(20)));
  const TimePoint resigned = cluster_->now();
  cluster_->Run(seconds(1));
  EXPECT_EQ(Vacant(), 1u);
  EXPECT_FALSE(cluster_->store().Record(shard).released);
  EXPECT_EQ(cluster_->store().Record(shard).leader, "");
  ASSERT_TRUE(AllLed(seconds(20)));
  EXPECT_GE(cluster_->now() - resigned, seconds(5));
}

// Plan: `acquired` of a shard hangs past its timeout, and the node is drained. The application may
// act on the shard, so it is no shard with nothing to release.
TEST_F(FailoverTest, ALateActivationMeetsTheLockDelay) {
  Up(kLock5s);
  const ShardId shard = cluster_->ShardsOf("n1").front();
  cluster_->Behave("n1", core::CallbackKind::kAcquired, shard, Behaviour::kHangs);
  cluster_->Kill("n1");
  cluster_->Start("n1", true);
  cluster_->Run(seconds(40));
  ASSERT_EQ(cluster_->LeaderOf(shard), "n1");
  cluster_->Policy("n2", {PolicyKind::kDrain, "n1"});
  const auto resigned = [&] { return cluster_->store().Record(shard).leader != "n1"; };
  ASSERT_TRUE(cluster_->RunUntil(resigned, seconds(20)));
  const TimePoint since = cluster_->now();
  EXPECT_EQ(cluster_->store().Record(shard).leader, "");
  EXPECT_FALSE(cluster_->store().Record(shard).released);
  ASSERT_TRUE(AllLed(seconds(20)));
  EXPECT_GE(cluster_->now() - since, seconds(5));
}

// Plan: an operator's settings and a bad write come in one message of a watch that was away. What
// is put back has the new settings.
TEST_F(FailoverTest, WhatIsPutBackHasTheLastSettings) {
  Up({});
  for (const char* node : {"n1", "n2", "n3"}) cluster_->HoldWatch(node);
  Set(kNever);
  ConfigFact bad = cluster_->core("n2").view().config();
  bad.shards = 99;
  cluster_->store().Put(bad);
  for (const char* node : {"n1", "n2", "n3"}) cluster_->HoldWatch(node, false);
  cluster_->Run(seconds(5));
  EXPECT_EQ(cluster_->core("n2").view().config().failover, kNever);
}

// Plan: the application has failed to release a shard, and its transfer waits for its turn. A lock
// delay is set meanwhile, so it is not made.
TEST_F(FailoverTest, ALockDelayKeepsWhatWasNotReleasedBefore) {
  Up({});
  const std::vector<ShardId> shards = cluster_->ShardsOf("n1");
  cluster_->Behave("n1", core::CallbackKind::kReleasing, shards[1], Behaviour::kThrows);
  cluster_->HoldWrites("n1");
  for (const ShardId shard : {shards[0], shards[1]}) {
    cluster_->Transfer("n2", {.shard = shard, .to = "n2", .if_term = {}, .actor = {}});
    cluster_->Run(milliseconds(200));
  }
  Set(kLock5s);
  cluster_->Run(milliseconds(200));
  cluster_->LetWrites("n1");
  cluster_->Run(seconds(1));
  EXPECT_EQ(cluster_->store().Record(shards[1]).leader, "");
  EXPECT_FALSE(cluster_->store().Record(shards[1]).released);
  EXPECT_TRUE(AllLed(seconds(10)));
}

// Plan: a node takes its time to stop, longer than the delay: others may take what it has resigned.
// Then it dies. What it still led waits for it from then on.
TEST_F(FailoverTest, AfterCountsFromTheEndForWhatASlowStopStillLed) {
  Up({.policy = FailoverPolicy::kAfter, .delay = seconds(2)});
  cluster_->Run(seconds(10));
  const ShardId shard = cluster_->ShardsOf("n1").front();
  cluster_->Behave("n1", core::CallbackKind::kReleasing, shard, Behaviour::kHangs);
  cluster_->Drain("n1");
  ASSERT_TRUE(
      cluster_->RunUntil([&] { return Vacant() == 0 && cluster_->LedBy("n1") == 1; }, seconds(4)));
  KillAndForget("n1");
  cluster_->Run(seconds(1));
  EXPECT_EQ(Vacant(), 1u);
  EXPECT_TRUE(AllLed(seconds(5)));
}

// Plan: a node learns of a session's end by a refused write, and of the proof only later, by the
// watch. The shards of that session change with the proof.
TEST(FailoverView, AProofThatComesLaterIsAChange) {
  core::View view(1, "n2");
  MemberFact member{.node = "n1", .revision = Revision{5}, .create_revision = Revision{5}};
  member.present = true;
  member.lease = member.session = SessionId{7};
  RecordFact record{.revision = Revision{6}, .present = true, .leader = "n1"};
  record.session = SessionId{7};
  const TimePoint start{seconds(100)};
  view.Merge(Snapshot{.revision = Revision{10},
                      .facts = {member, ShardRecordFact{.shard = ShardId{0}, .record = record}}},
             start);
  view.Merge(std::vector<Fact>{MemberFact{.node = "n1", .revision = Revision{21}}}, start);
  view.TakeChanges();
  view.Merge(Changes{.revision = Revision{20},
                     .facts = {MemberFact{.node = "n1", .revision = Revision{20}},
                               DeathFact{.revision = Revision{20},
                                         .present = true,
                                         .node = "n1",
                                         .session = SessionId{7}}}},
             start);
  const core::ViewChanges changes = view.TakeChanges();
  EXPECT_TRUE(changes.members);
  EXPECT_EQ(changes.shards, std::vector<ShardId>{ShardId{0}});
}

// Plan: a node dies, and starts again once its session is over. Its state directory proves that the
// process before has ended, so it takes back at once what nobody else may lead.
TEST_F(FailoverTest, ANodeThatStartsAgainWaitsForNoLockDelayOfItsOwn) {
  Up({.policy = FailoverPolicy::kNever, .lock_delay = seconds(60)});
  KillAndForget("n1");
  cluster_->Start("n1", true);
  EXPECT_TRUE(AllLed(seconds(10)));
  EXPECT_EQ(Leaders(), before_);
}

// Plan: a record is damaged while its leader lives. Much later the node learns by a read, not by
// the watch, that the leader is gone. The lock delay counts from then: the application of a leader
// that could not replace the record may act until its end. Under "never" nobody claims at all.
TEST(FailoverView, ADamagedRecordWaitsForTheLockDelayAfterAnEndThatAReadShowed) {
  const ShardId shard{0};
  const TimePoint start{seconds(100)};
  for (const FailoverSettings& failover :
       {kLock5s, FailoverSettings{.policy = FailoverPolicy::kNever, .lock_delay = seconds(5)}}) {
    const ConfigFact config{.revision = Revision{1},
                            .present = true,
                            .shards = 1,
                            .schema = kConfigSchema,
                            .failover = failover};
    MemberFact member{.node = "n1", .revision = Revision{5}, .create_revision = Revision{5}};
    member.present = true;
    member.lease = member.session = SessionId{7};
    RecordFact record{.revision = Revision{6}, .present = true, .leader = "n1"};
    record.session = SessionId{7};
    RecordFact damaged{.revision = Revision{11}, .present = true};
    damaged.readability = Readability::kDamaged;
    core::View view(1, "n2");
    view.Merge(Snapshot{.revision = Revision{10},
                        .facts = {config, member, ShardRecordFact{shard, record}}},
               start);
    view.Merge(Changes{.revision = Revision{11}, .facts = {ShardRecordFact{shard, damaged}}},
               start);
    const TimePoint end = start + seconds(100);
    const auto at = [&](TimePoint time) {
      return core::ClaimableNow(view, shard, seconds(2), time);
    };
    EXPECT_EQ(at(end), core::Claimable::kByLastLeader);
    view.Merge(
        Snapshot{.revision = Revision{20}, .facts = {config, ShardRecordFact{shard, damaged}}},
        end);
    const bool never = failover.policy == FailoverPolicy::kNever;
    const auto early = never ? core::Claimable::kByNobody : core::Claimable::kLater;
    const auto late = never ? core::Claimable::kByNobody : core::Claimable::kByAnyNode;
    EXPECT_EQ(at(end + milliseconds(4'999)), early);
    EXPECT_EQ(at(end + seconds(5)), late);
  }
}

// Plan: a node reads the group, hears nothing for long, and reads it again. Meanwhile another node
// came, led a shard, and has just gone. Its delay begins now.
TEST(FailoverView, AnAbsenceDoesNotBeginBeforeASessionThatWasNotSeen) {
  const ShardId shard{0};
  const TimePoint start{seconds(100)};
  ConfigFact config{.revision = Revision{1},
                    .present = true,
                    .shards = 1,
                    .schema = kConfigSchema,
                    .failover = kAfter20s};
  core::View view(1, "n2");
  view.Merge(Snapshot{.revision = Revision{10}, .facts = {config}}, start);
  RecordFact record;
  record.revision = Revision{15};
  record.present = true;
  record.leader = "n1";
  record.session = SessionId{7};
  view.Merge(Snapshot{.revision = Revision{20},
                      .facts = {config, ShardRecordFact{.shard = shard, .record = record}}},
             start + seconds(60));
  const auto at = [&](Duration later) {
    return core::ClaimableNow(view, shard, seconds(2), start + seconds(60) + later);
  };
  EXPECT_EQ(at(seconds(19)), core::Claimable::kByOwner);
  EXPECT_EQ(at(seconds(21)), core::Claimable::kByAnyNode);
}

// Plan: the policy becomes "never" while claims are on their way. They are refused.
TEST_F(FailoverTest, AClaimThatIsOnItsWayIsRefusedByANewPolicy) {
  Up({});
  cluster_->HoldWrites("n2");
  cluster_->HoldWrites("n3");
  KillAndForget("n1");
  cluster_->Run(seconds(1));
  std::set<ShardId> on_their_way;
  for (const char* node : {"n2", "n3"}) {
    for (const auto& [at, batch] : cluster_->Sent<ClaimBatch>(node)) {
      for (const Claim& claim : batch.claims) {
        if (claim.shard && claim.previous == "n1") on_their_way.insert(*claim.shard);
      }
    }
  }
  ASSERT_EQ(on_their_way.size(), 4u);
  ASSERT_EQ(Vacant(), 4u);
  Set(kNever);
  cluster_->LetWrites("n2");
  cluster_->LetWrites("n3");
  cluster_->Run(seconds(60));
  EXPECT_EQ(Vacant(), 4u);
  Set({});
  EXPECT_TRUE(AllLed(seconds(10)));
}

// Plan: activations fail on a node. Under "never", and with a lock delay, no other node tries them.
TEST_F(FailoverTest, NobodyElseTriesAFailingShard) {
  for (const FailoverSettings& failover : {kNever, kLock5s}) {
    Up(failover);
    cluster_->Behave("n1", core::CallbackKind::kAcquired, Behaviour::kThrows);
    cluster_->Kill("n1");
    cluster_->Start("n1", true);
    cluster_->Run(seconds(60));
    EXPECT_EQ(cluster_->LedBy("n1"), 4u);
  }
}

}  // namespace
}  // namespace baton::test
