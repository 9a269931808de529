// Callbacks `acquired` that hang: they are bounded, so that threads are left for other callbacks.
#include <gtest/gtest.h>

#include "core/cluster.h"
#include "core/failed_activations.h"

namespace baton::test {
namespace {

using core::CallbackKind;
using std::chrono::minutes;

ClusterOptions OneNode(std::uint32_t shards) {
  ClusterOptions options;
  options.nodes = 1;
  options.shards = shards;
  options.tune = [](core::CoreOptions& tuned) { tuned.callback_timeout = seconds(5); };
  return options;
}

// Plan: a node that was well begins a new session; its `acquired` throw, then hang. At most
// kMaxRetries hang at once, so threads are left for other callbacks.
TEST(HangingTries, RetriesThatHangAreBounded) {
  Cluster cluster(OneNode(200));
  cluster.Start("n1");
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.LedBy("n1") == 200; }, seconds(20)));
  cluster.Run(seconds(2));
  cluster.Behave("n1", CallbackKind::kAcquired, Behaviour::kThrows);
  cluster.RevokeLeaseOf("n1");
  cluster.Run(seconds(2));
  ASSERT_EQ(cluster.LedBy("n1"), 200u);
  ASSERT_GT(cluster.core("n1").leaderships().failed().failures().size(), core::kMaxRetries);
  cluster.Behave("n1", CallbackKind::kAcquired, Behaviour::kHangs);
  const auto asked = [&] { return cluster.Asked<core::RunCallback>("n1").size(); };
  const std::size_t before = asked();
  cluster.Run(seconds(4));  // each shard is due for a retry by then, and none is late
  EXPECT_GE(asked() - before, core::kMaxRetries);
  EXPECT_LE(asked() - before, core::kMaxRetries + core::kFirstTriesFailing);
  cluster.Run(seconds(30));
  EXPECT_LE(asked() - before, 2 * core::kMaxRetries);
  EXPECT_EQ(cluster.violations(), kNone);
}

// Plan: the `acquired` of 100 shards throw; then a database swallows what it is asked, and 64 of
// the second tries hang in it for good. Then it is well again: once those tries are late, the
// others are tried, too.
TEST(HangingTries, RetriesThatHangHoldNoOtherUpForGood) {
  Cluster cluster(OneNode(100));
  const auto behave = [&](Behaviour how) { cluster.Behave("n1", CallbackKind::kAcquired, how); };
  behave(Behaviour::kThrows);
  cluster.Start("n1");
  const auto& failed = cluster.core("n1").leaderships().failed();
  ASSERT_TRUE(cluster.RunUntil([&] { return failed.failures().size() == 100; }, minutes(10)));
  behave(Behaviour::kHangs);
  ASSERT_TRUE(cluster.RunUntil([&] { return failed.Full(); }, seconds(6)));
  behave(Behaviour::kReturns);
  cluster.Run(seconds(60));
  std::size_t active = 0;
  for (std::uint32_t s = 0; s < 100; ++s) active += cluster.Activated("n1", ShardId{s}) ? 1 : 0;
  EXPECT_EQ(active, 100 - core::kMaxRetries);
  EXPECT_EQ(cluster.violations(), kNone);
}

}  // namespace
}  // namespace baton::test
