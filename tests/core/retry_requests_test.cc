// `shards retry`: an operator asks the leader to call a failing `acquired` at once.
#include <gtest/gtest.h>

#include "core/cluster.h"

namespace baton::test {
namespace {

using core::CallbackKind;

ClusterOptions GroupThatFails(int nodes, std::uint32_t shards) {
  ClusterOptions options;
  options.nodes = nodes;
  options.shards = shards;
  options.tune = [](core::CoreOptions& tuned) { tuned.callback_timeout = seconds(5); };
  return options;
}

// The answer: how many attempts have failed, or the error.
std::string Retry(Cluster& cluster, const NodeId& node, ShardId shard, bool dry_run = false) {
  cluster.Deliver(node, core::RetryRequested{1, shard, dry_run, "alice"});
  const Result<std::uint32_t> result = cluster.Asked<core::AnswerRetry>(node).back().second.result;
  if (result.ok()) return std::to_string(result.value()) + " failed";
  return std::string(ToString(result.error().code)) + ": " + result.error().message;
}

std::vector<core::RunCallback> TriesOf(Cluster& cluster, const NodeId& node, ShardId shard) {
  std::vector<core::RunCallback> tries;
  for (const auto& [at, callback] : cluster.Asked<core::RunCallback>(node)) {
    if (callback.shard == shard && callback.kind == CallbackKind::kAcquired) {
      tries.push_back(callback);
    }
  }
  return tries;
}

// Plan: a node alone, of which one shard has failed for long enough that its pauses are longest.
class RetryRequests : public ::testing::Test {
 protected:
  void SetUp() override {
    cluster_.Behave("n1", CallbackKind::kAcquired, kShard, Behaviour::kThrows);
    cluster_.Start("n1");
    ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.LedBy("n1") == 4; }, seconds(20)));
    cluster_.Run(seconds(30));
    // Just after a try, so that the next one is 2.5 s away at least.
    const std::size_t tries = TriesOf(cluster_, "n1", kShard).size();
    ASSERT_TRUE(cluster_.RunUntil([&] { return TriesOf(cluster_, "n1", kShard).size() > tries; },
                                  seconds(6)));
    cluster_.Run(milliseconds(100));
  }

  const ShardId kShard{3};
  Cluster cluster_{GroupThatFails(1, 4)};
};

// Plan: the cause is gone. The shard is active at once, in the term in which it failed, and the
// application hears that an operator asked.
TEST_F(RetryRequests, TheShardIsTriedAtOnceInItsTerm) {
  const Term term = cluster_.TermOf(kShard);
  cluster_.Behave("n1", CallbackKind::kAcquired, kShard, Behaviour::kReturns);
  const std::size_t tries = TriesOf(cluster_, "n1", kShard).size();
  EXPECT_EQ(Retry(cluster_, "n1", kShard), std::to_string(tries) + " failed");
  EXPECT_EQ(TriesOf(cluster_, "n1", kShard).size(), tries + 1);
  EXPECT_EQ(TriesOf(cluster_, "n1", kShard).back().reason, Reason::kOperator);
  EXPECT_TRUE(
      cluster_.RunUntil([&] { return cluster_.Activated("n1", kShard); }, milliseconds(100)));
  EXPECT_EQ(cluster_.TermOf(kShard), term);
  EXPECT_EQ(cluster_.violations(), kNone);
}

// Plan: the cause stays. The backoff is reset: several tries come in the next second, and not
// just the one that was asked for. Only that one is an operator's.
TEST_F(RetryRequests, TheBackoffIsReset) {
  const std::size_t tries = TriesOf(cluster_, "n1", kShard).size();
  Retry(cluster_, "n1", kShard);
  cluster_.Run(seconds(1));
  const auto after = TriesOf(cluster_, "n1", kShard);
  ASSERT_GE(after.size(), tries + 4);
  EXPECT_LE(after.size(), tries + 8);
  EXPECT_EQ(after[tries].reason, Reason::kOperator);
  EXPECT_NE(after[tries + 1].reason, Reason::kOperator);
  EXPECT_EQ(cluster_.core("n1").leaderships().failed().failures().at(kShard).failures,
            after.size());  // the attempts go on being counted
  EXPECT_EQ(cluster_.violations(), kNone);
}

TEST_F(RetryRequests, ADryRunTriesNothing) {
  const std::size_t tries = TriesOf(cluster_, "n1", kShard).size();
  EXPECT_EQ(Retry(cluster_, "n1", kShard, true), std::to_string(tries) + " failed");
  cluster_.Run(seconds(1));
  EXPECT_EQ(TriesOf(cluster_, "n1", kShard).size(), tries);
}

// Plan: shards that are active, that don't exist; then the session is lost.
TEST_F(RetryRequests, WhatDoesNotFailIsRefused) {
  EXPECT_EQ(Retry(cluster_, "n1", ShardId{0}),
            "failed precondition: shard 0 is active: there is nothing to try again");
  EXPECT_EQ(Retry(cluster_, "n1", ShardId{4}),
            "not found: shard 4 does not exist: the group has shards 0 to 3");
  cluster_.Outage(true);
  cluster_.Run(seconds(15));
  EXPECT_EQ(Retry(cluster_, "n1", kShard),
            "unavailable: this node's session is not live, so it tries nothing");
}

// Plan: the node asked is not the leader: it names the leader, and where to ask it.
TEST(RetryRequestsOfTwo, ANodeThatDoesNotLeadNamesTheLeader) {
  ClusterOptions options = GroupThatFails(2, 4);
  options.tune = [](core::CoreOptions& tuned) {
    if (tuned.self.node == "n2") tuned.self.address = "10.0.0.2:7400";
  };
  Cluster cluster(options);
  ASSERT_TRUE(cluster.Up());
  const ShardId shard = cluster.ShardsOf("n2").front();
  EXPECT_EQ(Retry(cluster, "n1", shard), "failed precondition: shard " +
                                             std::to_string(shard.value) +
                                             " is led by 'n2': ask that node (--endpoint "
                                             "10.0.0.2:7400)");
  cluster.Behave("n1", CallbackKind::kAcquired, Behaviour::kHangs);
  cluster.Kill("n2");
  cluster.RunUntil([&] { return cluster.LeaderOf(shard) == "n1"; }, seconds(30));
  EXPECT_EQ(Retry(cluster, "n1", shard), "failed precondition: shard " +
                                             std::to_string(shard.value) +
                                             " has not failed: its first acquired still runs");
}

// Plan: `acquired` has exceeded its bound and still runs: it is never called twice at once.
TEST(RetryRequestsOfOne, ACallbackThatStillRunsIsNotCalledAgain) {
  Cluster cluster(GroupThatFails(1, 4));
  const ShardId shard{1};
  cluster.Behave("n1", CallbackKind::kAcquired, shard, Behaviour::kHangs);
  cluster.Start("n1");
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.LedBy("n1") == 4; }, seconds(20)));
  cluster.Run(seconds(10));
  EXPECT_EQ(Retry(cluster, "n1", shard),
            "failed precondition: shard 1 can't be tried again before the acquired that timed out "
            "returns");
  EXPECT_EQ(TriesOf(cluster, "n1", shard).size(), 1u);
}

// Plan: another process is the application, and can't be reached: nobody could answer the attempt.
// When it is back, the shard is tried.
TEST(RetryRequestsOfOne, AnApplicationThatCantBeReachedIsNotAsked) {
  ClusterOptions options = GroupThatFails(1, 4);
  options.tune = [](core::CoreOptions& tuned) { tuned.external = true; };
  Cluster cluster(options);
  const ShardId shard{1};
  cluster.Behave("n1", CallbackKind::kAcquired, shard, Behaviour::kThrows);
  cluster.Start("n1");
  cluster.Deliver("n1", core::ApplicationChanged{core::ApplicationState::kAttached});
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.LedBy("n1") == 4; }, seconds(20)));
  cluster.Run(seconds(1));
  cluster.Deliver("n1", core::ApplicationChanged{core::ApplicationState::kDetached});
  EXPECT_EQ(Retry(cluster, "n1", shard),
            "failed precondition: shard 1 can't be tried: no application is attached");
  cluster.Deliver("n1", core::ApplicationChanged{core::ApplicationState::kAttached});
  const std::size_t tries = TriesOf(cluster, "n1", shard).size();
  cluster.Behave("n1", CallbackKind::kAcquired, shard, Behaviour::kReturns);
  Retry(cluster, "n1", shard);
  EXPECT_EQ(TriesOf(cluster, "n1", shard).size(), tries + 1);
  EXPECT_TRUE(cluster.RunUntil([&] { return cluster.Activated("n1", shard); }, milliseconds(100)));
}

// Plan: as many retries hang as may run at once: an operator's does not get past the bound.
TEST(RetryRequestsOfOne, TheBoundOfRetriesHolds) {
  Cluster cluster(GroupThatFails(1, 200));
  const auto behave = [&](Behaviour behaviour) {
    for (std::uint32_t s = 100; s < 200; ++s) {
      cluster.Behave("n1", CallbackKind::kAcquired, ShardId{s}, behaviour);
    }
  };
  behave(Behaviour::kThrows);  // the others succeed: the node does not fail as a whole
  cluster.Start("n1");
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.LedBy("n1") == 200; }, seconds(20)));
  cluster.Run(seconds(2));
  behave(Behaviour::kHangs);
  const core::FailedActivations& failed = cluster.core("n1").leaderships().failed();
  ASSERT_TRUE(cluster.RunUntil([&] { return failed.Full(); }, seconds(6)));
  ShardId waiting{0};
  while (waiting.value < 200 && !failed.Waits(waiting)) ++waiting.value;
  ASSERT_LT(waiting.value, 200u) << "no shard waits for its next try";
  EXPECT_EQ(Retry(cluster, "n1", waiting),
            "unavailable: as many retries run as may run at once; try again in a moment");
}

// Plan: the first shards of a node that has just started are still being tried, and none has
// failed. The answer says why another one waits for its first try.
TEST(RetryRequestsOfOne, TheAnswerSaysWhyAShardWaitsForItsFirstTry) {
  Cluster cluster(GroupThatFails(1, 100));
  cluster.Behave("n1", CallbackKind::kAcquired, Behaviour::kHangs);
  cluster.Start("n1");
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.LedBy("n1") == 100; }, seconds(20)));
  ShardId untried{0};
  while (!TriesOf(cluster, "n1", untried).empty()) ++untried.value;
  const std::string shard = "failed precondition: shard " + std::to_string(untried.value);
  EXPECT_EQ(Retry(cluster, "n1", untried),
            shard + " waits for its first try: until one succeeds, this node tries few at once");
  cluster.Run(seconds(10));
  while (!TriesOf(cluster, "n1", untried).empty()) ++untried.value;
  EXPECT_EQ(Retry(cluster, "n1", untried),
            "failed precondition: shard " + std::to_string(untried.value) +
                " waits for its first try, because others fail on this node: retry one");
}

}  // namespace
}  // namespace baton::test
