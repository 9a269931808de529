// `shards release`: an operator gives a shard up for a leader that is gone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/requests_fixture.h"

namespace baton::test {
namespace {

// Plan: n2 leads all shards, and they wait for it if it is gone. n1 has weight 0 and leads nothing,
// so what is released stays without a leader, and n1 answers for the group.
class ReleaseRequests : public RequestsTest {
 protected:
  ReleaseRequests() : RequestsTest(Options()) {}
  void SetUp() override {
    cluster_.Start("n1");
    cluster_.Start("n2");
    ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.LedBy("n2") == 4; }, seconds(30)));
    Set(kNever);
  }
  using RequestsTest::Text;
  static std::string Text(const RecordFact& record) {
    return "leader '" + record.leader + "', resigned by '" + record.resigned_by + "', previous '" +
           record.previous + "', " + ToString(record.reason) + ", actor '" + record.actor + "'";
  }
  static ClusterOptions Options() {
    ClusterOptions options;
    options.nodes = 2;
    options.shards = 4;
    options.tune = [](core::CoreOptions& tuned) {
      if (tuned.self.node == "n1") tuned.self.weight = 0;
      tuned.self.directory = tuned.self.node == "n1" ? 1 : 2;
    };
    return options;
  }
  void KillN2() {
    cluster_.Kill("n2");
    ASSERT_TRUE(
        cluster_.RunUntil([&] { return !cluster_.store().Has("members/n2"); }, seconds(30)));
    cluster_.Run(seconds(1));
  }
  static core::ReleaseRequested Release(ShardId shard, bool dry_run = false) {
    return {.shard = shard, .dry_run = dry_run, .actor = "alice"};
  }
  std::string Released(ShardId shard) { return Answer(Release(shard)); }
  bool N2LeadsAll(Duration most) {
    return cluster_.RunUntil([&] { return cluster_.LedBy("n2") == 4; }, most);
  }
  std::size_t Sent() const { return cluster_.Sent<ForceRelease>("n1").size(); }
  std::string Stored(ShardId shard) { return Text(cluster_.store().Record(shard)); }

  static constexpr FailoverSettings kNever{.policy = FailoverPolicy::kNever};
  const ShardId kShard{3};
  const std::string kReleased = "leader '', resigned by '', previous 'n2', operator, actor 'alice'";
};

// Plan: n2 dies. One shard is released, and only that one. A second time there is nothing to
// release.
TEST_F(ReleaseRequests, AShardOfADeadLeaderIsGivenUpForIt) {
  KillN2();
  const std::string others = Stored(ShardId{0});
  EXPECT_EQ(Released(kShard), "ok");
  EXPECT_EQ(Stored(kShard), kReleased);
  EXPECT_EQ(Stored(ShardId{0}), others);
  EXPECT_EQ(Released(kShard),
            "failed precondition: shard 3 is led by nobody, and any node may claim it");
  cluster_.Start("n2");
  EXPECT_TRUE(N2LeadsAll(seconds(30)));
  EXPECT_EQ(cluster_.violations(), kNone);
}

TEST_F(ReleaseRequests, ADryRunReleasesNothing) {
  KillN2();
  EXPECT_EQ(Answer(Release(kShard, true)), "ok");
  EXPECT_EQ(Answer(Release(ShardId{4}, true)),
            "not found: shard 4 does not exist: the group has shards 0 to 3");
  EXPECT_EQ(Sent(), 0u);
}

// Plan: a shard that is led, one without a record, and one of a newer version. In a group whose
// settings were never set, or say that any node may claim at once, nothing waits for a node.
TEST_F(ReleaseRequests, WhatNeedsNoReleaseIsRefused) {
  EXPECT_EQ(Released(kShard),
            "failed precondition: shard 3 is led by 'n2', whose session is alive: use `batonctl "
            "shards transfer`");
  KillN2();
  cluster_.DeleteRecord(ShardId{0});
  cluster_.DamageRecord(ShardId{1}, Readability::kNewerSchema);
  cluster_.Run(seconds(1));
  EXPECT_EQ(Released(ShardId{0}),
            "failed precondition: shard 0 has no record, so any node may claim it");
  EXPECT_EQ(Released(ShardId{1}),
            "failed precondition: shard 1's record was written by a newer version: ask a node of "
            "that version");
  Set({.lock_delay = seconds(5)});
  EXPECT_EQ(Released(kShard),
            "failed precondition: shard 3 waits for no node, because the group's failover is "
            "immediate: there is nothing to release");
  EXPECT_EQ(Sent(), 0u);
}

// Plan: the record of a dead leader is damaged. The nodes know who led, and the release names it.
// The bytes are kept, and any node may claim the shard.
TEST_F(ReleaseRequests, ADamagedRecordIsReplacedByARelease) {
  KillN2();
  cluster_.DamageRecord(kShard);
  cluster_.Run(seconds(60));
  ASSERT_EQ(cluster_.store().Record(kShard).readability, Readability::kDamaged);
  EXPECT_EQ(Answer(Release(kShard, true)), "ok");
  EXPECT_EQ(Sent(), 0u);
  EXPECT_EQ(Released(kShard), "ok");
  EXPECT_EQ(Stored(kShard), kReleased);
  EXPECT_EQ(cluster_.store().quarantined(),
            std::vector<std::string>{"quarantine/shards/000003:garbage"});
  cluster_.Start("n2");
  EXPECT_TRUE(N2LeadsAll(seconds(30)));
  EXPECT_EQ(cluster_.violations(), kNone);
}

// Plan: with failover 'never', the report of a damaged record does not promise what won't happen.
TEST_F(ReleaseRequests, ADamagedRecordIsReportedWithWhatItWaitsFor) {
  KillN2();
  cluster_.DamageRecord(kShard);
  cluster_.Run(seconds(1));
  std::string said;
  for (const auto& [at, notice] : cluster_.Asked<core::Notice>("n1")) said += notice.text + "\n";
  EXPECT_THAT(said, testing::HasSubstr("only once an operator releases the shard"));
}

// Plan: n1 starts when the record is damaged already, so it can't know who led. It waits until no
// leader of that time can be left.
TEST_F(ReleaseRequests, ADamagedRecordThatNobodyKnowsIsReleasedOnceNoLeaderCanBeLeft) {
  KillN2();
  cluster_.Kill("n1");
  cluster_.DamageRecord(kShard);
  cluster_.Start("n1");
  ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.core("n1").view().complete(); }, seconds(9)));
  EXPECT_EQ(Released(kShard).find("failed precondition: shard 3's record is damaged, and nobody "
                                  "knows who led last: try again in 1"),
            0u);
  cluster_.Run(seconds(30));
  EXPECT_EQ(Released(kShard), "ok");
  EXPECT_EQ(Stored(kShard), "leader '', resigned by '', previous '', operator, actor 'alice'");
  cluster_.Start("n2");
  EXPECT_TRUE(N2LeadsAll(seconds(30)));
}

// Plan: the damaged record changes while the release is on its way; it is refused. And where any
// node may claim, the nodes replace the record.
TEST_F(ReleaseRequests, AReleaseReplacesOnlyTheDamagedRecordThatItSaw) {
  KillN2();
  cluster_.DamageRecord(kShard);
  cluster_.Run(seconds(1));
  cluster_.HoldWrites("n1");
  Ask("n1", Release(kShard));
  cluster_.DamageRecord(kShard);
  EXPECT_EQ(LetLast().outcome, Outcome::kRefused);
  cluster_.Run(seconds(1));
  EXPECT_EQ(Answers().back().find("failed precondition: another change came first"), 0u);
  Set({});
  EXPECT_EQ(Released(kShard),
            "failed precondition: shard 3's record is damaged, and the nodes replace it by "
            "themselves: there is nothing to release");
}

// Plan: n2 leads when a record of its own is damaged, and can't replace it.
TEST_F(ReleaseRequests, ADamagedRecordOfALiveLeaderIsLeftToIt) {
  cluster_.HoldWrites("n2");
  cluster_.DamageRecord(kShard);
  cluster_.Run(seconds(1));
  EXPECT_EQ(Released(kShard),
            "failed precondition: shard 3's record is damaged, and 'n2', which led last and whose "
            "session is alive, replaces it; if it does not, send the release to 'n2' (--endpoint)");
  EXPECT_EQ(Sent(), 0u);
}

// Plan: a record of n2 is damaged twice while n2's watch is compacted. So n2 can't know that nobody
// led in between, and does not replace it; n1, which saw all of it, waits for n2. The release goes
// to n2, which no longer leads, once no other leader can be left.
TEST_F(ReleaseRequests, ADamageThatItsLiveLeaderCouldNotFollowIsReleasedByIt) {
  cluster_.HoldWatch("n2");
  cluster_.DamageRecord(kShard);
  cluster_.DamageRecord(kShard);
  cluster_.Run(milliseconds(100));
  cluster_.store().Compact();
  cluster_.HoldWatch("n2", false);
  cluster_.Run(seconds(60));
  ASSERT_EQ(cluster_.store().Record(kShard).readability, Readability::kDamaged);
  EXPECT_FALSE(cluster_.Leads("n2", kShard));
  EXPECT_THAT(Released(kShard), testing::EndsWith("send the release to 'n2' (--endpoint)"));
  Ask("n2", Release(kShard));
  cluster_.Run(seconds(1));
  EXPECT_EQ(cluster_.Sent<ForceRelease>("n2").size(), 1u);
  EXPECT_TRUE(N2LeadsAll(seconds(30)));
  EXPECT_EQ(cluster_.violations(), kNone);
}

// Plan: the death of n2 is proven, and its shards are released. A lock delay protects against what
// has ended by then, so neither a node that starts later has to wait for it. Without the proof it
// has to.
TEST_F(ReleaseRequests, AProvenDeathStaysProvenInWhatIsReleased) {
  for (const bool proven : {true, false}) {
    SCOPED_TRACE(proven);
    Set({.policy = FailoverPolicy::kNever, .lock_delay = seconds(60)});
    const SessionRef session{"n2", cluster_.store().Member("n2").session};
    cluster_.Kill("n2");
    if (proven) cluster_.store().Execute(SessionEnd{session});
    cluster_.HoldWatch("n1", false);  // the watches hear of it
    KillN2();
    for (std::uint32_t s = 0; s < 4; ++s) EXPECT_EQ(Released(ShardId{s}), "ok");
    EXPECT_EQ(cluster_.store().Record(kShard).released, proven);
    cluster_.Kill("n1");
    cluster_.Start("n1");
    cluster_.Start("n2");
    EXPECT_EQ(N2LeadsAll(seconds(30)), proven);
    EXPECT_TRUE(N2LeadsAll(seconds(60)));
  }
}

// Plan: n2 was stopped in order. Its shards wait for it, and can be released as well. They still
// say that its application has stopped. With other settings they are anybody's.
TEST_F(ReleaseRequests, AShardThatWaitsForANodeThatWasStoppedCanBeReleased) {
  cluster_.Drain("n2");
  ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.finished("n2"); }, seconds(30)));
  cluster_.Run(seconds(1));
  ASSERT_EQ(Stored(kShard), "leader '', resigned by 'n2', previous 'n2', shutdown, actor ''");
  Set({});
  EXPECT_EQ(Released(kShard),
            "failed precondition: shard 3 is led by nobody, and any node may claim it");
  Set(kNever);
  EXPECT_EQ(Released(kShard), "ok");
  EXPECT_EQ(Stored(kShard), kReleased);
  EXPECT_TRUE(cluster_.store().Record(kShard).released);
}

// Plan: the release is on its way when n2 comes back and leads the shard again. It is refused, and
// the answer says what came first.
TEST_F(ReleaseRequests, ALeaderThatComesBackFirstKeepsTheShard) {
  KillN2();
  cluster_.HoldWrites("n1");
  Ask("n1", Release(kShard));
  const core::SubmitWrite held = cluster_.Asked<core::SubmitWrite>("n1").back().second;
  cluster_.Start("n2");
  ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.LedBy("n2") == 4; }, seconds(30)));
  const WriteResult refused = cluster_.store().Execute(*held.write);
  ASSERT_EQ(refused.outcome, Outcome::kRefused);
  cluster_.PassNewWrites("n1");
  cluster_.Deliver("n1", core::WriteAnswered{held.operation, refused});
  ASSERT_EQ(Answers().size(), 1u);
  EXPECT_EQ(Answers().front(),
            "failed precondition: shard 3 was not released: 'n2' leads it now, with term " +
                std::to_string(cluster_.TermOf(kShard).value));
}

// Plan: the answer to the write is lost. The copy that follows is refused, but the shard was
// released.
TEST_F(ReleaseRequests, AnAnswerThatIsLostIsFoundOut) {
  KillN2();
  cluster_.LoseReplies("n1");
  Ask("n1", Release(kShard));
  cluster_.Run(milliseconds(20));
  cluster_.LoseReplies("n1", false);
  cluster_.Run(seconds(10));
  EXPECT_EQ(Answers(), std::vector<std::string>{"ok"});
  EXPECT_EQ(Stored(kShard), kReleased);
}

// Plan: the same, and n3 claims the shard before the copy is refused. It is said to be released.
TEST_F(ReleaseRequests, AReleaseWhoseAnswerWasLostIsFoundBehindAClaim) {
  KillN2();
  cluster_.Start("n3");
  cluster_.Run(seconds(3));
  ASSERT_EQ(cluster_.LedBy("n3"), 0u);
  cluster_.LoseReplies("n1");
  Ask("n1", Release(kShard));
  ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.LeaderOf(kShard) == "n3"; }, seconds(1)));
  cluster_.LoseReplies("n1", false);
  cluster_.Run(seconds(10));
  EXPECT_EQ(Answers(), std::vector<std::string>{"ok"});
}

// Plan: the release waits for etcd when the node is stopped.
TEST_F(ReleaseRequests, AStoppingNodeAnswers) {
  KillN2();
  cluster_.HoldWrites("n1");
  Ask("n1", Release(kShard));
  cluster_.Stop("n1");
  cluster_.Run(seconds(5));
  EXPECT_EQ(Answers(), std::vector<std::string>{
                           "timed out: this node is stopping; the change may still be made"});
}

}  // namespace
}  // namespace baton::test
