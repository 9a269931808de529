// A failed `acquired`: the node keeps the shard and tries again, and the group stays quiet.
#include "core/failed_activations.h"

#include <gtest/gtest.h>

#include "core/cluster.h"

namespace baton::test {
namespace {

using core::CallbackKind;
using std::chrono::minutes;

ClusterOptions FailedOptions(int nodes, std::uint32_t shards) {
  ClusterOptions options;
  options.nodes = nodes;
  options.shards = shards;
  options.tune = [](core::CoreOptions& tuned) { tuned.callback_timeout = seconds(5); };
  return options;
}

std::size_t TimesAcquired(Cluster& cluster, const NodeId& node, ShardId shard) {
  std::size_t count = 0;
  for (const auto& [at, callback] : cluster.Asked<core::RunCallback>(node)) {
    if (callback.shard == shard && callback.kind == CallbackKind::kAcquired) ++count;
  }
  return count;
}

core::OperationId LastAcquired(Cluster& cluster, const NodeId& node, ShardId shard) {
  core::OperationId last = 0;
  for (const auto& [at, callback] : cluster.Asked<core::RunCallback>(node)) {
    if (callback.shard == shard && callback.kind == CallbackKind::kAcquired) {
      last = callback.operation;
    }
  }
  return last;
}

bool AllActivated(Cluster& cluster, std::uint32_t shards) {
  for (std::uint32_t s = 0; s < shards; ++s) {
    const NodeId leader = cluster.LeaderOf(ShardId{s});
    if (leader.empty() || !cluster.Activated(leader, ShardId{s})) return false;
  }
  return true;
}

// Plan: three nodes start while every `acquired` throws. After ten seconds, the group writes at
// most 50 times a second; no lease is lost. When the cause ends, all is active within 5 s.
TEST(FailedActivations, AStormOfThemWritesLittleAndEndsSoon) {
  constexpr std::uint32_t kShards = BATON_FEWER_SEEDS > 1 ? 60 : 300;
  Cluster cluster(FailedOptions(3, kShards));
  const std::vector<NodeId> nodes = {"n1", "n2", "n3"};
  for (const NodeId& node : nodes) {
    cluster.Behave(node, CallbackKind::kAcquired, Behaviour::kThrows);
    cluster.Start(node);
  }
  cluster.Run(seconds(20));
  const std::int64_t before = cluster.store().revision().value;
  cluster.Run(seconds(20));
  EXPECT_LE(cluster.store().revision().value - before, 50 * 20);
  cluster.Run(BATON_FEWER_SEEDS > 1 ? seconds(20) : seconds(120));
  const std::int64_t quiet = cluster.store().revision().value;
  cluster.Run(seconds(20));
  EXPECT_LE(cluster.store().revision().value - quiet, 20);
  EXPECT_TRUE(cluster.TransitionsOf(Reason::kLeaseExpired).empty());
  for (const NodeId& node : nodes) {
    cluster.Behave(node, CallbackKind::kAcquired, Behaviour::kReturns);
  }
  EXPECT_TRUE(cluster.RunUntil([&] { return AllActivated(cluster, kShards); }, seconds(5)));
  EXPECT_EQ(cluster.violations(), kNone);
}

// Plan: one shard fails on every node. It is resigned once and then stays, with growing pauses
// between its tries. The other shards keep their terms.
TEST(FailedActivations, APoisonShardIsResignedOnceAndHurtsNobodyElse) {
  Cluster cluster(FailedOptions(3, 12));
  const ShardId poison{5};
  for (const char* node : {"n1", "n2", "n3"}) {
    cluster.Behave(node, CallbackKind::kAcquired, poison, Behaviour::kThrows);
    cluster.Start(node);
  }
  cluster.Run(seconds(60));
  std::vector<Term> terms;
  for (std::uint32_t s = 0; s < 12; ++s) terms.push_back(cluster.TermOf(ShardId{s}));
  EXPECT_EQ(cluster.store().Record(poison).reason, Reason::kCallbackTimeout);
  const NodeId leader = cluster.LeaderOf(poison);
  const std::size_t tries = TimesAcquired(cluster, leader, poison);
  cluster.Run(seconds(60));
  for (std::uint32_t s = 0; s < 12; ++s) EXPECT_EQ(cluster.TermOf(ShardId{s}), terms[s]) << s;
  const std::size_t more = TimesAcquired(cluster, leader, poison) - tries;
  EXPECT_GE(more, 12u);  // every 5 s at the latest
  EXPECT_LE(more, 24u);  // and every 2.5 s at the earliest
  EXPECT_EQ(cluster.violations(), kNone);
}

// Plan: a node alone: the shard is never resigned, and succeeds in the term in which it failed.
TEST(FailedActivations, ARetryKeepsTheTerm) {
  Cluster cluster(FailedOptions(1, 4));
  cluster.Behave("n1", CallbackKind::kAcquired, ShardId{3}, Behaviour::kThrows);
  cluster.Start("n1");
  cluster.Run(seconds(20));
  EXPECT_FALSE(cluster.Activated("n1", ShardId{3}));
  const Term term = cluster.TermOf(ShardId{3});
  cluster.Behave("n1", CallbackKind::kAcquired, ShardId{3}, Behaviour::kReturns);
  EXPECT_TRUE(cluster.RunUntil([&] { return cluster.Activated("n1", ShardId{3}); }, seconds(6)));
  EXPECT_EQ(cluster.TermOf(ShardId{3}), term);
  EXPECT_EQ(cluster.violations(), kNone);
}

// Plan: all shards of a node fail until their pauses are long. Then the cause ends: the first
// success ends the pauses of all others.
TEST(FailedActivations, OneSuccessEndsAllPauses) {
  constexpr std::uint32_t kShards = 40;
  Cluster cluster(FailedOptions(1, kShards));
  cluster.Behave("n1", CallbackKind::kAcquired, Behaviour::kThrows);
  cluster.Start("n1");
  cluster.Run(seconds(120));
  cluster.Behave("n1", CallbackKind::kAcquired, Behaviour::kReturns);
  const auto some = [&] {
    for (std::uint32_t s = 0; s < kShards; ++s) {
      if (cluster.Activated("n1", ShardId{s})) return true;
    }
    return false;
  };
  ASSERT_TRUE(cluster.RunUntil(some, seconds(6)));
  EXPECT_TRUE(cluster.RunUntil([&] { return AllActivated(cluster, kShards); }, milliseconds(500)));
}

// Plan: all shards of a node fail until their pauses are long. Then, every 100 ms, an operator asks
// for a retry of one that succeeds now. Only the first success makes the others run again: the next
// ones come within a second.
TEST(FailedActivations, SuccessesEndAllPausesOnceASecondAtMost) {
  constexpr std::uint32_t kShards = 40;
  Cluster cluster(FailedOptions(1, kShards));
  cluster.Behave("n1", CallbackKind::kAcquired, Behaviour::kThrows);
  cluster.Start("n1");
  cluster.Run(seconds(120));
  const ShardId fails{kShards - 1};
  const std::size_t before = TimesAcquired(cluster, "n1", fails);
  for (std::uint32_t s = 0; s < 10; ++s) {
    cluster.Behave("n1", CallbackKind::kAcquired, ShardId{s}, Behaviour::kReturns);
    cluster.Deliver("n1", core::RetryRequested{s + 1, ShardId{s}, false, "alice"});
    cluster.Run(milliseconds(100));
    ASSERT_TRUE(cluster.Activated("n1", ShardId{s})) << s;
  }
  const std::size_t tries = TimesAcquired(cluster, "n1", fails) - before;
  EXPECT_GE(tries, 1u);
  EXPECT_LE(tries, 2u);  // its own pause may have ended, too
  EXPECT_EQ(cluster.violations(), kNone);
}

// Plan: etcd denies the move of a shard that fails. The node keeps the shard and its term, asks
// etcd seldom, and activates the shard once that succeeds.
TEST(FailedActivations, ADeniedMoveKeepsTheShard) {
  Cluster cluster(FailedOptions(2, 4));
  ASSERT_TRUE(cluster.Up());
  const ShardId shard = cluster.ShardsOf("n2").front();
  cluster.Behave("n1", CallbackKind::kAcquired, shard, Behaviour::kThrows);
  cluster.DenyWrites("n1", [](const Write& write) {
    const auto* batch = std::get_if<MoveBatch>(&write);
    return batch != nullptr && batch->moves.front().move.reason == Reason::kCallbackTimeout;
  });
  cluster.Transfer("n1", {.shard = shard, .to = "n1", .if_term = {}, .actor = {}});
  cluster.Run(seconds(30));
  ASSERT_EQ(cluster.LeaderOf(shard), "n1");
  const Term term = cluster.TermOf(shard);
  const std::size_t sent = cluster.Sent<MoveBatch>("n1").size();
  EXPECT_GE(sent, 1u);
  EXPECT_LE(sent, 4u);
  cluster.Behave("n1", CallbackKind::kAcquired, shard, Behaviour::kReturns);
  EXPECT_TRUE(cluster.RunUntil([&] { return cluster.Activated("n1", shard); }, seconds(6)));
  EXPECT_EQ(cluster.TermOf(shard), term);
  EXPECT_EQ(cluster.violations(), kNone);
}

// Plan: n1 has planned that n2 tries a shard that fails, and the plan is on its way to etcd when an
// operator pauses moves. The plan comes too late, so nothing moves until the pause is over.
TEST(FailedActivations, APauseStopsAPlanThatIsOnItsWay) {
  Cluster cluster(FailedOptions(2, 4));
  ASSERT_TRUE(cluster.Up());
  const ShardId shard = cluster.ShardsOf("n2").front();
  cluster.Behave("n1", CallbackKind::kAcquired, shard, Behaviour::kThrows);
  cluster.Transfer("n1", {.shard = shard, .to = "n1", .if_term = {}, .actor = {}});
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.LeaderOf(shard) == "n1"; }, seconds(5)));
  cluster.Run(milliseconds(100));
  const Term term = cluster.TermOf(shard);
  cluster.HoldWrites("n1");
  const std::size_t before = cluster.Sent<MoveBatch>("n1").size();
  const auto planned = [&] { return cluster.Sent<MoveBatch>("n1").size() > before; };
  ASSERT_TRUE(cluster.RunUntil(planned, seconds(5)));
  ASSERT_EQ(cluster.Sent<MoveBatch>("n1").back().second.moves.front().move.reason,
            Reason::kCallbackTimeout);
  cluster.Policy("n2", {PolicyKind::kPause});
  cluster.Run(milliseconds(100));
  ASSERT_TRUE(cluster.store().Has("policy/pause"));
  cluster.LetWrites("n1");
  cluster.Run(std::chrono::minutes(2));
  EXPECT_EQ(cluster.TermOf(shard), term);
  cluster.Policy("n2", {PolicyKind::kPause}, false);
  EXPECT_TRUE(cluster.RunUntil([&] { return cluster.Activated("n2", shard); }, seconds(40)));
  EXPECT_EQ(cluster.violations(), kNone);
}

// Plan: n1 has planned that n2 tries a shard that fails, and n2 takes long to prepare it. Meanwhile
// the shard is activated on n1: the move is withdrawn, and the shard stays.
TEST(FailedActivations, AnOtherTryThatIsNotNeededIsWithdrawn) {
  Cluster cluster(FailedOptions(2, 4));
  ASSERT_TRUE(cluster.Up());
  const ShardId shard = cluster.ShardsOf("n2").front();
  cluster.Behave("n1", CallbackKind::kAcquired, shard, Behaviour::kThrows);
  cluster.Transfer("n1", {.shard = shard, .to = "n1", .if_term = {}, .actor = {}});
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.LeaderOf(shard) == "n1"; }, seconds(5)));
  const Term term = cluster.TermOf(shard);
  cluster.Behave("n2", CallbackKind::kPrepare, shard, Behaviour::kHangs);
  const auto moves = [&] { return cluster.store().Move(shard).has_value(); };
  ASSERT_TRUE(cluster.RunUntil(moves, seconds(5)));
  cluster.Behave("n1", CallbackKind::kAcquired, shard, Behaviour::kReturns);
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.Activated("n1", shard); }, seconds(6)));
  EXPECT_TRUE(cluster.RunUntil([&] { return !moves(); }, seconds(1)));
  cluster.Run(seconds(30));
  EXPECT_EQ(cluster.TermOf(shard), term);
  EXPECT_EQ(cluster.violations(), kNone);
}

// Plan: a shard that waits for its next try is moved: the target gets it at once, without a
// `releasing` on the node that never had it. The group pauses moves, so that only the operator
// moves the shard, and the next try would come much later.
TEST(FailedActivations, AShardInBackoffIsMovedAtOnce) {
  Cluster cluster(FailedOptions(2, 4));
  const ShardId shard{2};
  cluster.Behave("n1", CallbackKind::kAcquired, shard, Behaviour::kThrows);
  cluster.Start("n1");
  cluster.Run(seconds(20));  // n1 is alone, and keeps the shard
  cluster.Policy("n1", {PolicyKind::kPause});
  cluster.Start("n2");
  cluster.Run(seconds(1));
  std::size_t tries = TimesAcquired(cluster, "n1", shard);
  const auto tried = [&] { return TimesAcquired(cluster, "n1", shard) > tries; };
  ASSERT_TRUE(cluster.RunUntil(tried, seconds(6)));
  tries = TimesAcquired(cluster, "n1", shard);
  cluster.Run(milliseconds(100));  // that try has failed; the next backoff is 2.5 s at least
  ASSERT_EQ(cluster.LeaderOf(shard), "n1");
  cluster.Transfer("n2", {.shard = shard, .to = "n2", .if_term = {}, .actor = {}});
  EXPECT_TRUE(cluster.RunUntil([&] { return cluster.Activated("n2", shard); }, seconds(1)));
  EXPECT_FALSE(tried());
  EXPECT_EQ(cluster.store().Record(shard).reason, Reason::kOperator);
  for (const auto& [at, callback] : cluster.Asked<core::RunCallback>("n1")) {
    EXPECT_FALSE(callback.shard == shard && callback.kind == CallbackKind::kReleasing);
  }
  EXPECT_EQ(cluster.violations(), kNone);
}

// Plan: a node of which every activation fails is drained, and finishes within seconds.
TEST(FailedActivations, ANodeWithFailuresDrainsAtOnce) {
  Cluster cluster(FailedOptions(1, 40));
  cluster.Behave("n1", CallbackKind::kAcquired, Behaviour::kThrows);
  cluster.Start("n1");
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.LedBy("n1") == 40; }, seconds(20)));
  cluster.Run(seconds(10));
  cluster.Drain("n1");
  EXPECT_TRUE(cluster.RunUntil([&] { return cluster.finished("n1"); }, seconds(5)));
  EXPECT_TRUE(cluster.drained("n1"));
  EXPECT_EQ(cluster.violations(), kNone);
}

// Plan: the same beside a node that is well, once when the process stops and once by an operator. A
// pause forbids other tries, so all shards are still on the failing node. They go to the other one
// by transfers, without a `releasing` and without a time in which nobody leads them. Most wait for
// a try that would come much later, and some for their first.
TEST(FailedActivations, ANodeWithFailuresGivesAllToItsHealthyPeerAtOnce) {
  for (const bool stops : {true, false}) {
    Cluster cluster(FailedOptions(2, 40));
    cluster.Behave("n1", CallbackKind::kAcquired, Behaviour::kThrows);
    cluster.Start("n1");
    ASSERT_TRUE(cluster.RunUntil([&] { return cluster.LedBy("n1") == 40; }, seconds(20)));
    cluster.Policy("n1", {PolicyKind::kPause});
    cluster.Start("n2");
    cluster.Run(seconds(30));
    ASSERT_EQ(cluster.LedBy("n1"), 40u);
    if (stops) {
      cluster.Drain("n1");
    } else {
      cluster.Policy("n2", {.kind = PolicyKind::kDrain, .node = "n1"});
    }
    EXPECT_TRUE(cluster.RunUntil([&] { return cluster.LedBy("n2") == 40; }, seconds(2)));
    cluster.Run(seconds(2));
    EXPECT_TRUE(AllActivated(cluster, 40));
    EXPECT_EQ(cluster.finished("n1"), stops);
    EXPECT_EQ(cluster.drained("n1"), stops);
    for (std::uint32_t s = 0; s < 40; ++s) {
      const RecordFact record = cluster.store().Record(ShardId{s});
      EXPECT_EQ(record.reason, stops ? Reason::kShutdown : Reason::kDrain) << s;
      EXPECT_EQ(record.previous, "n1") << s;
    }
    for (const auto& [at, callback] : cluster.Asked<core::RunCallback>("n1")) {
      EXPECT_NE(callback.kind, CallbackKind::kReleasing);
    }
    EXPECT_EQ(cluster.violations(), kNone);
  }
}

// Plan: a node of which every activation fails stops alone, under a failover policy. The
// application is asked to release what it has before
// that is resigned, but it has nothing of these shards. Their records say that they were released.
TEST(FailedActivations, ANodeWithFailuresStopsAtOnceUnderAFailoverPolicy) {
  Cluster cluster(FailedOptions(1, 40));
  cluster.Behave("n1", CallbackKind::kAcquired, Behaviour::kThrows);
  cluster.Start("n1");
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.LedBy("n1") == 40; }, seconds(20)));
  auto config = std::get<ConfigFact>(cluster.store().Get("config"));
  config.schema = kConfigSchema;
  config.failover.policy = FailoverPolicy::kNever;
  cluster.store().Put(config);
  cluster.HoldWatch("n1", false);  // the watch hears of it
  cluster.Run(seconds(10));
  cluster.Drain("n1");
  EXPECT_TRUE(cluster.RunUntil([&] { return cluster.finished("n1"); }, seconds(5)));
  EXPECT_TRUE(cluster.drained("n1"));
  for (std::uint32_t s = 0; s < 40; ++s) {
    EXPECT_TRUE(cluster.store().Record(ShardId{s}).leader.empty()) << s;
    EXPECT_TRUE(cluster.store().Record(ShardId{s}).released) << s;
  }
  EXPECT_EQ(cluster.violations(), kNone);
}

// Plan: `acquired` takes longer than its timeout, and returns in the end. While it runs, it is not
// called again; then the shard is active, in its first term.
TEST(FailedActivations, ALateSuccessCounts) {
  Cluster cluster(FailedOptions(1, 4));
  cluster.Behave("n1", CallbackKind::kAcquired, ShardId{1}, Behaviour::kHangs);
  cluster.Start("n1");
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.LedBy("n1") == 4; }, seconds(20)));
  const Term term = cluster.TermOf(ShardId{1});
  cluster.Run(seconds(30));
  EXPECT_EQ(TimesAcquired(cluster, "n1", ShardId{1}), 1u);
  for (const auto& [at, callback] : cluster.Asked<core::RunCallback>("n1")) {
    if (callback.shard != ShardId{1} || callback.kind != CallbackKind::kAcquired) continue;
    cluster.Deliver("n1", core::CallbackReturned{callback.operation, callback.shard, true});
  }
  EXPECT_TRUE(cluster.Activated("n1", ShardId{1}));
  EXPECT_EQ(cluster.TermOf(ShardId{1}), term);
  EXPECT_EQ(cluster.violations(), kNone);
}

// Plan: all but one of the first tries that may hang do so. One more begins, and no other one.
TEST(FailedActivations, FirstTriesThatRunCountWithThoseThatHang) {
  core::FailedActivations failed;
  core::OperationId operation = 0;
  const auto begin = [&] {
    ++operation;
    failed.StartedFirst(ShardId{static_cast<std::uint32_t>(operation)}, operation);
  };
  while (operation + 1 < core::kMaxRetries) {
    ASSERT_TRUE(failed.MayTryFirst({}));
    begin();
    failed.Left(operation);
  }
  ASSERT_TRUE(failed.MayTryFirst({}));
  begin();
  EXPECT_FALSE(failed.MayTryFirst({}));
}

// Plan: a node that has never activated anything is given 200 shards. `acquired` throws for one of
// them and hangs for the others. Many first tries hang; the one shard is tried again all the same.
TEST(FailedActivations, FirstTriesThatHangHoldNoRetryUp) {
  Cluster cluster(FailedOptions(1, 200));
  const ShardId throws{0};
  cluster.Behave("n1", CallbackKind::kAcquired, Behaviour::kHangs);
  cluster.Behave("n1", CallbackKind::kAcquired, throws, Behaviour::kThrows);
  cluster.Start("n1");
  cluster.Run(std::chrono::minutes(8));
  std::size_t hang = 0;
  for (std::uint32_t s = 1; s < 200; ++s) hang += TimesAcquired(cluster, "n1", ShardId{s});
  EXPECT_GE(hang, core::kMaxRetries);
  EXPECT_LE(hang, core::kMaxRetries + core::kFirstTriesFailing);
  const std::size_t before = TimesAcquired(cluster, "n1", throws);
  cluster.Run(seconds(30));
  EXPECT_GE(TimesAcquired(cluster, "n1", throws), before + 5);
  EXPECT_EQ(cluster.violations(), kNone);
}

// Plan: the first tries of a node hang, and then it loses its session. In the next session they no
// longer take the places of others, although they still run. Its new first tries wait behind them,
// and soon count as late; then the others are tried.
TEST(FailedActivations, FirstTriesOfALostSessionFreeTheirPlaces) {
  Cluster cluster(FailedOptions(1, 100));
  cluster.Behave("n1", CallbackKind::kAcquired, Behaviour::kHangs);
  cluster.Start("n1");
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.LedBy("n1") == 100; }, seconds(20)));
  cluster.Behave("n1", CallbackKind::kAcquired, Behaviour::kReturns);
  cluster.RevokeLeaseOf("n1");  // before the first tries are late
  const auto active = [&] {
    std::size_t count = 0;
    for (std::uint32_t s = 0; s < 100; ++s) count += cluster.Activated("n1", ShardId{s}) ? 1 : 0;
    return count == 100 - core::kFirstTriesUnproven;
  };
  EXPECT_TRUE(cluster.RunUntil(active, seconds(8)));
  EXPECT_EQ(cluster.violations(), kNone);
}

class FailuresFarApart : public ::testing::Test {
 protected:
  FailuresFarApart() : cluster_(Still()) { EXPECT_TRUE(cluster_.Up()); }
  static ClusterOptions Still() {
    ClusterOptions options = FailedOptions(2, 12);
    options.tune = [](core::CoreOptions& tuned) { tuned.rebalance_delay = std::chrono::hours(24); };
    return options;
  }
  /// Three shards are moved to n1, where they fail, and from there back to n2. Returns whether n1
  /// was failing after the third.
  bool ThreeFail(Duration pause) {
    const std::vector<ShardId> shards = cluster_.ShardsOf("n2");
    for (int i = 0; i < 3; ++i) {
      if (i > 0) cluster_.Run(pause);
      const ShardId shard = shards.at(static_cast<std::size_t>(i));
      cluster_.Behave("n1", CallbackKind::kAcquired, shard, Behaviour::kThrows);
      cluster_.Transfer("n1", {.shard = shard, .to = "n1", .if_term = {}, .actor = {}});
      cluster_.Run(seconds(20));
      EXPECT_EQ(cluster_.LeaderOf(shard), "n2");
    }
    const core::FailedActivations& failed = cluster_.core("n1").leaderships().failed();
    return failed.failing() || failed.starts_over_until() > TimePoint::min();
  }
  Cluster cluster_;
};

// Plan: the pause is longer than kFailingFor: these failures have nothing to do with each other.
TEST_F(FailuresFarApart, MakeNoNodeFailing) {
  EXPECT_FALSE(ThreeFail(std::chrono::minutes(15)));
  EXPECT_EQ(cluster_.violations(), kNone);
}

// Plan: the same without a pause. A broken node that holds few shards at a time is found out, too.
TEST_F(FailuresFarApart, CountWhileTheyAreRecentAlthoughTheShardsAreGone) {
  EXPECT_TRUE(ThreeFail(Duration{0}));
  EXPECT_EQ(cluster_.violations(), kNone);
}

// Plan: n1 keeps a shard that fails on both nodes. Then three others fail on it, one after another,
// and are active on n2 again. The hopeless shard's tries don't show whether the cause is gone, so
// n1 takes shards again as soon as a node that has nothing left to try.
TEST_F(FailuresFarApart, AHopelessShardDoesNotKeepItsNodeFailing) {
  const ShardId hopeless = cluster_.ShardsOf("n1").back();
  for (const char* node : {"n1", "n2"}) {
    cluster_.Behave(node, CallbackKind::kAcquired, hopeless, Behaviour::kThrows);
  }
  cluster_.Transfer("n1", {.shard = hopeless, .to = "n2", .if_term = {}, .actor = {}});
  cluster_.Run(seconds(20));
  ASSERT_EQ(cluster_.LeaderOf(hopeless), "n1") << "n2 gave it back: n1 is its other try";
  EXPECT_TRUE(ThreeFail(Duration{0}));
  ASSERT_EQ(cluster_.LeaderOf(hopeless), "n1");
  const auto over = [&] { return !cluster_.core("n1").leaderships().failed().failing(); };
  EXPECT_TRUE(cluster_.RunUntil(over, minutes(1)));
  EXPECT_EQ(cluster_.violations(), kNone);
}

// Plan: a shard fails, and then no renewal is confirmed for a while: etcd is away. Nothing is tried
// while the node is suspended, because it could not lead the shard. Once the node resumes, the
// shard is tried again, in the same term.
TEST(FailedActivations, ASuspendedNodeTriesNothing) {
  Cluster cluster(FailedOptions(1, 4));
  const ShardId shard{2};
  cluster.Behave("n1", CallbackKind::kAcquired, shard, Behaviour::kThrows);
  cluster.Start("n1");
  cluster.Run(seconds(20));
  const Term term = cluster.TermOf(shard);
  const auto suspended = [&] { return !cluster.TransitionsOf(Reason::kSuspended).empty(); };
  cluster.Outage(true);
  ASSERT_TRUE(cluster.RunUntil(suspended, seconds(15)));
  cluster.Behave("n1", CallbackKind::kAcquired, shard, Behaviour::kReturns);
  const std::size_t tries = TimesAcquired(cluster, "n1", shard);
  cluster.Run(minutes(1));
  EXPECT_EQ(TimesAcquired(cluster, "n1", shard), tries);
  EXPECT_FALSE(cluster.Activated("n1", shard));
  cluster.Outage(false);
  EXPECT_TRUE(cluster.RunUntil([&] { return cluster.Activated("n1", shard); }, seconds(10)));
  EXPECT_EQ(TimesAcquired(cluster, "n1", shard), tries + 1);
  EXPECT_EQ(cluster.TermOf(shard), term);
  EXPECT_EQ(cluster.violations(), kNone);
}

// Plan: n3 has just joined and leads nothing yet. A shard is moved from n2 to n1, and fails there.
// n2, which had it last, gets it back, because it can activate it, and n3 perhaps can't.
TEST(FailedActivations, TheOtherTryIsThatOfTheLastLeader) {
  ClusterOptions options = FailedOptions(3, 12);
  options.tune = [](core::CoreOptions& tuned) { tuned.rebalance_delay = std::chrono::hours(24); };
  Cluster cluster(options);
  cluster.Start("n1");
  cluster.Start("n2");
  cluster.Run(seconds(10));
  cluster.Start("n3");
  cluster.Run(seconds(5));
  ASSERT_EQ(cluster.LedBy("n2"), 6u);
  ASSERT_EQ(cluster.LedBy("n3"), 0u);
  const ShardId shard = cluster.ShardsOf("n2").front();
  cluster.Behave("n1", CallbackKind::kAcquired, shard, Behaviour::kThrows);
  cluster.Transfer("n1", {.shard = shard, .to = "n1", .if_term = {}, .actor = {}});
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.LeaderOf(shard) == "n1"; }, seconds(5)));
  const auto elsewhere = [&] {
    return cluster.Activated("n2", shard) || cluster.Activated("n3", shard);
  };
  ASSERT_TRUE(cluster.RunUntil(elsewhere, seconds(20)));
  EXPECT_EQ(cluster.LeaderOf(shard), "n2");
  EXPECT_EQ(cluster.store().Record(shard).reason, Reason::kCallbackTimeout);
  EXPECT_EQ(cluster.violations(), kNone);
}

// Plan: `acquired` of a shard fails twice, each time after 4 s, and then succeeds. The shard has
// not failed three times, so it stays where it is, however long that took.
TEST(FailedActivations, TwoFailuresMoveNothing) {
  Cluster cluster(FailedOptions(2, 4));
  ASSERT_TRUE(cluster.Up());
  const ShardId shard = cluster.ShardsOf("n2").front();
  cluster.Behave("n1", CallbackKind::kAcquired, shard, Behaviour::kHangs);
  cluster.Transfer("n1", {.shard = shard, .to = "n1", .if_term = {}, .actor = {}});
  const std::size_t before = TimesAcquired(cluster, "n1", shard);
  for (std::size_t time = 1; time <= 3; ++time) {
    const auto tried = [&] { return TimesAcquired(cluster, "n1", shard) == before + time; };
    ASSERT_TRUE(cluster.RunUntil(tried, seconds(5))) << time;
    cluster.Run(seconds(4));
    const core::OperationId operation = LastAcquired(cluster, "n1", shard);
    cluster.Deliver("n1", core::CallbackReturned{operation, shard, time == 3});
  }
  EXPECT_TRUE(cluster.Activated("n1", shard));
  for (const auto& [at, batch] : cluster.Sent<MoveBatch>("n1")) {
    for (const MoveWrite& write : batch.moves) {
      EXPECT_NE(write.move.reason, Reason::kCallbackTimeout) << write.move.shard.value;
    }
  }
  EXPECT_EQ(cluster.violations(), kNone);
}

// Plan: a shard that waits for its first try is tried at once, because a handoff that failed gives
// it back when there is a place. It does not wait any more, or `acquired` would run twice.
TEST(FailedActivations, AFirstTryThatBeginsByAnotherWayIsNoneToWaitFor) {
  core::FailedActivations failed;
  failed.Wait(ShardId{3}, false);
  failed.Wait(ShardId{4}, false);
  failed.StartedFirst(ShardId{3}, 17);
  EXPECT_FALSE(failed.Waits(ShardId{3}));
  EXPECT_TRUE(failed.Waits(ShardId{4}));
  EXPECT_EQ(failed.untried().size(), 1u);
}

}  // namespace
}  // namespace baton::test
