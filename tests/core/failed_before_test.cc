// Shards that come back to a node on which they failed, while nothing succeeds there: it tries
// others first, so none fails there twice as long as there are others.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "core/cluster.h"

namespace baton::test {
namespace {

using core::CallbackKind;
using std::chrono::minutes;

// n1 is broken: every `acquired` throws there, and the others have activated all shards.
class FailedBefore : public testing::Test {
 protected:
  void Begin(int nodes, std::uint32_t shards) {
    shards_ = shards;
    ClusterOptions options;
    options.nodes = nodes;
    options.shards = shards;
    cluster_ = std::make_unique<Cluster>(std::move(options));
    cluster_->Behave("n1", CallbackKind::kAcquired, Behaviour::kThrows);
    cluster_->StartAll();
    ASSERT_TRUE(WaitForAll(seconds(30)));
    ASSERT_TRUE(SaysFailing());
  }
  void TearDown() override { EXPECT_EQ(cluster_->violations(), kNone); }

  bool WaitForAll(Duration most) {
    return cluster_->RunUntil(
        [&] {
          for (std::uint32_t s = 0; s < shards_; ++s) {
            const NodeId leader = cluster_->LeaderOf(ShardId{s});
            if (leader.empty() || !cluster_->Activated(leader, ShardId{s})) return false;
          }
          return true;
        },
        most);
  }
  bool SaysFailing() { return cluster_->store().Member("n1").failing; }
  // n1 has failed for 10 s or longer, and does not count as failing any more.
  bool WaitUntilItStartsOver() {
    return cluster_->RunUntil([&] { return !SaysFailing(); }, minutes(11));
  }
  // Its session ends at once.
  void End(const NodeId& node) {
    cluster_->Kill(node);
    cluster_->RevokeLeaseOf(node);
  }
  // The terms in which n1 tried each shard, since then.
  std::map<ShardId, std::set<std::int64_t>> Tried(TimePoint since = TimePoint::min()) const {
    std::map<ShardId, std::set<std::int64_t>> tried;
    for (const auto& [at, callback] : cluster_->Asked<core::RunCallback>("n1")) {
      if (callback.kind == CallbackKind::kAcquired && at >= since) {
        tried[callback.shard].insert(callback.term.value);
      }
    }
    return tried;
  }
  // How often n1 began to lead a shard.
  std::size_t Leaderships() const {
    std::set<std::pair<ShardId, std::int64_t>> all;
    for (const auto& [at, set] : cluster_->Asked<core::SetLeadership>("n1")) {
      if (set.term.value != 0) all.insert({set.shard, set.term.value});
    }
    return all.size();
  }

  std::uint32_t shards_ = 0;
  std::unique_ptr<Cluster> cluster_;
};

// Plan: for minutes, n1 starts over, and each time another node dies at that moment. So n1 gets
// half of all shards again and again, with those that failed there. No shard fails there in two
// leaderships, and n1 tries fewer than half of what it gets.
TEST_F(FailedBefore, NoShardFailsTwiceOnABrokenNode) {
  ASSERT_NO_FATAL_FAILURE(Begin(3, 300));
  for (const char* other : {"n2", "n3", "n2"}) {
    ASSERT_TRUE(WaitUntilItStartsOver());
    const std::size_t before = Leaderships();
    End(other);
    ASSERT_TRUE(cluster_->RunUntil([&] { return SaysFailing(); }, seconds(20)));
    EXPECT_GE(Leaderships(), before + 100) << "it got few shards";
    ASSERT_TRUE(WaitForAll(minutes(1)));
    cluster_->Start(other, true);
    cluster_->Run(seconds(70));
  }
  const auto tried = Tried();
  for (const auto& [shard, terms] : tried) EXPECT_EQ(terms.size(), 1u) << shard.value;
  EXPECT_LT(2 * tried.size(), Leaderships());
}

// Plan: n1 has started over when the only other node dies, so it gets all shards at once. The first
// one failed there before. n1 tries those that it never tried, until it has nothing else.
TEST_F(FailedBefore, ATakeoverBeginsWithTheOthers) {
  ASSERT_NO_FATAL_FAILURE(Begin(2, 60));
  ASSERT_TRUE(Tried().contains(ShardId{0}));
  cluster_->Policy("n2", {PolicyKind::kPause});
  ASSERT_TRUE(WaitUntilItStartsOver());
  const auto before = Tried();
  ASSERT_LT(before.size(), 40u);
  const TimePoint ended = cluster_->now();
  End("n2");
  ASSERT_TRUE(cluster_->RunUntil([&] { return cluster_->LedBy("n1") == 60; }, seconds(5)));
  cluster_->Run(seconds(2));
  const auto after = Tried(ended);
  EXPECT_GE(after.size(), 3u);
  for (const auto& [shard, terms] : after) EXPECT_FALSE(before.contains(shard)) << shard.value;
  // With nothing else to try, they have their turn.
  const auto all = [&] { return Tried(ended).size() == 60; };
  EXPECT_TRUE(cluster_->RunUntil(all, minutes(11)));
}

// Plan: n1 has started over. Balance plans two moves to it, and the first shard failed there
// before. n1 prepares the other one alone.
TEST_F(FailedBefore, MovesBeginWithTheOthers) {
  ASSERT_NO_FATAL_FAILURE(Begin(2, 60));
  ASSERT_TRUE(Tried().contains(ShardId{0}));
  cluster_->Policy("n2", {PolicyKind::kPause});
  ASSERT_TRUE(WaitUntilItStartsOver());
  const auto before = Tried();
  ShardId fresh{1};
  while (before.contains(fresh)) ++fresh.value;
  ASSERT_LT(fresh.value, shards_);
  const TimePoint planned = cluster_->now();
  for (const ShardId shard : {ShardId{0}, fresh}) {
    MoveFact move{.shard = shard, .present = true, .ends = cluster_->TermOf(shard)};
    move.from = "n2";
    move.to = "n1";
    cluster_->store().Put(move);
  }
  cluster_->HoldWatch("n1", false);  // the watches hear of it
  ASSERT_TRUE(cluster_->RunUntil([&] { return SaysFailing(); }, seconds(20)));
  std::vector<ShardId> prepared;
  for (const auto& [at, callback] : cluster_->Asked<core::RunCallback>("n1")) {
    if (callback.kind == CallbackKind::kPrepare && at >= planned) {
      prepared.push_back(callback.shard);
    }
  }
  EXPECT_EQ(prepared, std::vector{fresh});
  EXPECT_FALSE(Tried(planned).contains(ShardId{0}));
}

// Plan: shard 0 failed and has left. It is tried after the others, until something succeeds here,
// or another application comes.
TEST(FailedBeforeLine, IsOverWithASuccessOrAnotherApplication) {
  ClusterOptions options;
  options.nodes = 1;
  Cluster cluster(std::move(options));
  ASSERT_TRUE(cluster.Up());
  const core::Core& core = cluster.core("n1");
  core::OperationId next = 1;
  core::PendingWrites writes;
  std::vector<core::Action> actions;
  TimePoint wake_at = TimePoint::max();
  core::Context context{.now = cluster.now(),
                        .options = core.options(),
                        .view = core.view(),
                        .session = core.session(),
                        .next_operation = next,
                        .writes = writes,
                        .actions = actions,
                        .wake_at = wake_at};
  core::FailedActivations failed;
  core::OperationId operation = 0;
  const auto fail = [&](std::uint32_t shard) {
    failed.Failed(context, ShardId{shard}, {.operation = ++operation, .error = "no disk"});
    failed.Forget(ShardId{shard});  // it has left
  };
  fail(0);
  EXPECT_TRUE(failed.FailedBefore(ShardId{0}));
  for (const ShardId shard : {ShardId{0}, ShardId{1}, ShardId{2}, ShardId{3}}) {
    failed.Wait(shard, failed.FailedBefore(shard));
  }
  std::vector<ShardId> order;
  while (const auto shard = failed.NextUntried(context)) order.push_back(*shard);
  ASSERT_EQ(order.size(), 4u);
  EXPECT_EQ(order.back(), ShardId{0});
  failed.Succeeded(context, ShardId{1}, ++operation);
  EXPECT_FALSE(failed.FailedBefore(ShardId{0}));
  // While an earlier success counts, shards join the line in their turn. Once the node is failing,
  // those that failed before go to its end.
  for (const std::uint32_t s : {4u, 5u}) fail(s);
  for (const std::uint32_t s : {4u, 7u, 8u, 9u}) {
    failed.Wait(ShardId{s}, failed.FailedBefore(ShardId{s}));
  }
  fail(6);
  ASSERT_TRUE(failed.failing());
  ASSERT_EQ(failed.untried().size(), 4u);
  EXPECT_EQ(failed.untried().rbegin()->second, ShardId{4});
  EXPECT_TRUE(failed.FailedBefore(ShardId{4}));
  EXPECT_FALSE(failed.FailedBefore(ShardId{0})) << "it failed before the success";
  failed.ForgetApplication();
  EXPECT_FALSE(failed.FailedBefore(ShardId{4}));
}

}  // namespace
}  // namespace baton::test
