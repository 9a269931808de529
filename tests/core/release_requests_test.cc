// `shards release`: an operator gives a shard up for a leader that is gone.
#include <gtest/gtest.h>

#include "core/cluster.h"

namespace baton::test {
namespace {

// Plan: n2 leads all shards. n1 has weight 0 and leads nothing, so shards that n2 leaves behind
// stay without a leader, and n1 answers for the group.
class ReleaseRequests : public ::testing::Test {
 protected:
  void SetUp() override {
    cluster_.Start("n1");
    cluster_.Start("n2");
    ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.LedBy("n2") == 4; }, seconds(30)));
    cluster_.Run(seconds(1));
  }
  static std::string Text(const Status& status) {
    if (status.ok()) return "ok";
    return std::string(ToString(status.error().code)) + ": " + status.error().message;
  }

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
    };
    return options;
  }
  void KillN2() {
    cluster_.Kill("n2");
    ASSERT_TRUE(
        cluster_.RunUntil([&] { return !cluster_.store().Has("members/n2"); }, seconds(30)));
    cluster_.Run(seconds(1));
  }
  void Ask(ShardId shard, bool dry_run = false) {
    cluster_.Deliver("n1",
                     core::ReleaseRequested{
                         .request = next_++, .shard = shard, .dry_run = dry_run, .actor = "alice"});
  }
  std::string Answer(ShardId shard, bool dry_run = false) {
    const std::size_t before = Answers().size();
    Ask(shard, dry_run);
    cluster_.Run(seconds(1));
    const auto answers = Answers();
    return answers.size() == before + 1 ? answers.back() : "no answer";
  }
  std::vector<std::string> Answers() const {
    std::vector<std::string> answers;
    for (const auto& [at, answer] : cluster_.Asked<core::AnswerPolicy>("n1")) {
      answers.push_back(Text(answer.result));
    }
    return answers;
  }
  std::size_t Sent() const { return cluster_.Sent<ForceRelease>("n1").size(); }
  std::string Stored(ShardId shard) { return Text(cluster_.store().Record(shard)); }

  const ShardId kShard{3};
  const std::string kReleased = "leader '', resigned by '', previous 'n2', operator, actor 'alice'";
  core::RequestId next_ = 1;
  Cluster cluster_{Options()};
};

// Plan: n2 dies. One shard is released, and only that one. A second time there is nothing to
// release.
TEST_F(ReleaseRequests, AShardOfADeadLeaderIsGivenUpForIt) {
  KillN2();
  const std::string others = Stored(ShardId{0});
  EXPECT_EQ(Answer(kShard), "ok");
  EXPECT_EQ(Stored(kShard), kReleased);
  EXPECT_EQ(Stored(ShardId{0}), others);
  EXPECT_EQ(Answer(kShard),
            "failed precondition: shard 3 is led by nobody, and any node may claim it");
  cluster_.Start("n2");
  EXPECT_TRUE(cluster_.RunUntil([&] { return cluster_.LedBy("n2") == 4; }, seconds(30)));
  EXPECT_EQ(cluster_.violations(), kNone);
}

TEST_F(ReleaseRequests, ADryRunReleasesNothing) {
  KillN2();
  EXPECT_EQ(Answer(kShard, true), "ok");
  EXPECT_EQ(Answer(ShardId{4}, true),
            "not found: shard 4 does not exist: the group has shards 0 to 3");
  EXPECT_EQ(Sent(), 0u);
}

// Plan: a shard that is led, one without a record, and one whose record can't be read.
TEST_F(ReleaseRequests, WhatNeedsNoReleaseIsRefused) {
  EXPECT_EQ(Answer(kShard),
            "failed precondition: shard 3 is led by 'n2', whose session is alive: use `batonctl "
            "shards transfer`");
  KillN2();
  cluster_.DeleteRecord(ShardId{0});
  cluster_.DamageRecord(ShardId{1});
  cluster_.Run(seconds(1));
  EXPECT_EQ(Answer(ShardId{0}),
            "failed precondition: shard 0 was never led, and any node may claim it");
  EXPECT_EQ(Answer(ShardId{1}),
            "failed precondition: shard 1's record can't be read, so nobody knows who led it; "
            "delete the record by hand, and any node may claim the shard");
  EXPECT_EQ(Sent(), 0u);
}

// Plan: n2 was stopped in order. Its shards are anybody's, unless the group's settings say that
// they wait for it: then they can be released as well.
TEST_F(ReleaseRequests, AShardThatWaitsForANodeThatWasStoppedCanBeReleased) {
  cluster_.Stop("n2");
  ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.finished("n2"); }, seconds(30)));
  cluster_.Run(seconds(1));
  ASSERT_EQ(Stored(kShard), "leader '', resigned by 'n2', previous 'n2', shutdown, actor ''");
  EXPECT_EQ(Answer(kShard),
            "failed precondition: shard 3 is led by nobody, and any node may claim it");
  auto config = std::get<ConfigFact>(cluster_.store().Get("config"));
  config.schema = kConfigSchema;
  config.failover.policy = FailoverPolicy::kNever;
  cluster_.store().Put(config);
  cluster_.HoldWatch("n1", false);  // the watch hears of it
  cluster_.Run(seconds(1));
  EXPECT_EQ(Answer(kShard), "ok");
  EXPECT_EQ(Stored(kShard), kReleased);
}

// Plan: the release is on its way when n2 comes back and leads the shard again. It is refused, and
// the answer says what came first.
TEST_F(ReleaseRequests, ALeaderThatComesBackFirstKeepsTheShard) {
  KillN2();
  cluster_.HoldWrites("n1");
  Ask(kShard);
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
  Ask(kShard);
  cluster_.Run(milliseconds(20));
  cluster_.LoseReplies("n1", false);
  cluster_.Run(seconds(10));
  EXPECT_EQ(Answers(), std::vector<std::string>{"ok"});
  EXPECT_EQ(Stored(kShard), kReleased);
}

// Plan: the release waits for etcd when the node is stopped.
TEST_F(ReleaseRequests, AStoppingNodeAnswers) {
  KillN2();
  cluster_.HoldWrites("n1");
  Ask(kShard);
  cluster_.Stop("n1");
  cluster_.Run(seconds(5));
  EXPECT_EQ(Answers(), std::vector<std::string>{
                           "timed out: this node is stopping; the change may still be made"});
}

}  // namespace
}  // namespace baton::test
