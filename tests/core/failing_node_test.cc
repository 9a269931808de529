// Nodes on which activations fail: they are no sinks, they try few shards, and the others get on.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/growth.h"
#include "core/cluster.h"

namespace baton::test {
namespace {

using core::CallbackKind;
using std::chrono::minutes;

ClusterOptions Group(int nodes, std::uint32_t shards) {
  ClusterOptions options;
  options.nodes = nodes;
  options.shards = shards;
  options.tune = [](core::CoreOptions& tuned) { tuned.callback_timeout = seconds(5); };
  return options;
}

class FailingNodes : public testing::Test {
 protected:
  void Begin(int nodes, std::uint32_t shards) {
    shards_ = shards;
    cluster_ = std::make_unique<Cluster>(Group(nodes, shards));
  }
  void Break(const NodeId& node) {
    cluster_->Behave(node, CallbackKind::kAcquired, Behaviour::kThrows);
  }
  void Mend(const NodeId& node) {
    cluster_->Behave(node, CallbackKind::kAcquired, Behaviour::kReturns);
  }
  bool AllActivated() const {
    for (std::uint32_t s = 0; s < shards_; ++s) {
      const NodeId leader = cluster_->LeaderOf(ShardId{s});
      if (leader.empty() || !cluster_->Activated(leader, ShardId{s})) return false;
    }
    return true;
  }
  bool WaitForAll(Duration most) {
    return cluster_->RunUntil([&] { return AllActivated(); }, most);
  }
  /// In how many terms each shard was tried on the node.
  std::map<ShardId, std::size_t> TermsTried(const NodeId& node) const {
    std::map<ShardId, std::set<std::int64_t>> terms;
    for (const auto& [at, callback] : cluster_->Asked<core::RunCallback>(node)) {
      if (callback.kind == CallbackKind::kAcquired) {
        terms[callback.shard].insert(callback.term.value);
      }
    }
    std::map<ShardId, std::size_t> tried;
    for (const auto& [shard, of] : terms) tried[shard] = of.size();
    return tried;
  }
  bool SaysFailing(const NodeId& node) const { return cluster_->store().Member(node).failing; }
  std::size_t OtherTriesOf(const NodeId& node) const {
    std::size_t count = 0;
    for (const auto& [at, batch] : cluster_->Sent<MoveBatch>(node)) {
      for (const MoveWrite& write : batch.moves) {
        const bool other = write.move.reason == Reason::kCallbackTimeout;
        if (other && write.move.present && write.move.phase == MovePhase::kPlanned) ++count;
      }
    }
    return count;
  }

  std::uint32_t shards_ = 0;
  std::unique_ptr<Cluster> cluster_;
};

// Plan: three nodes start, and on one every `acquired` throws. It tries a few of its shards; the
// others get all of them, once each, and nothing comes back, also when another node dies.
TEST_F(FailingNodes, ABrokenNodeIsNoSink) {
  Begin(3, 300);
  Break("n1");
  cluster_->StartAll();
  ASSERT_TRUE(WaitForAll(seconds(30)));
  EXPECT_TRUE(SaysFailing("n1"));
  EXPECT_EQ(cluster_->LedBy("n1"), 0u);
  cluster_->Run(minutes(2));
  cluster_->Kill("n2");
  cluster_->Run(seconds(20));
  EXPECT_TRUE(AllActivated());
  EXPECT_EQ(cluster_->LedBy("n3"), 300u);
  const auto tried = TermsTried("n1");
  EXPECT_LT(tried.size(), 50u);  // of about 100
  for (const auto& [shard, terms] : tried) EXPECT_EQ(terms, 1u) << shard.value;
  EXPECT_EQ(cluster_->violations(), kNone);
}

// Plan: a broken node has lost its shards. After 10 s, and then ever more seldom, it takes one,
// which is active elsewhere seconds later. Once its cause is gone, it gets its part.
TEST_F(FailingNodes, OneShardShowsWhetherTheCauseIsGone) {
  Begin(3, 90);
  Break("n1");
  cluster_->StartAll();
  ASSERT_TRUE(WaitForAll(seconds(30)));
  const std::size_t before = TermsTried("n1").size();
  cluster_->Run(minutes(15));
  std::size_t more = 0;
  for (const auto& [shard, terms] : TermsTried("n1")) more += terms;
  EXPECT_GE(more, before + 1);
  EXPECT_LE(more, before + 8);
  EXPECT_TRUE(AllActivated());
  EXPECT_TRUE(SaysFailing("n1"));
  Mend("n1");
  EXPECT_TRUE(cluster_->RunUntil([&] { return cluster_->LedBy("n1") == 30; }, minutes(11)));
  EXPECT_TRUE(WaitForAll(seconds(5)));
  EXPECT_FALSE(SaysFailing("n1"));
  EXPECT_EQ(cluster_->violations(), kNone);
}

// Plan: a broken node joins a group that is at rest. Few shards are handed to it, and they are
// active elsewhere within seconds.
TEST_F(FailingNodes, ABrokenNewcomerTakesFewShards) {
  Begin(3, 300);
  Break("n3");
  cluster_->Start("n1");
  cluster_->Start("n2");
  ASSERT_TRUE(WaitForAll(seconds(20)));
  cluster_->Start("n3");
  ASSERT_TRUE(cluster_->RunUntil([&] { return SaysFailing("n3"); }, seconds(30)));
  ASSERT_TRUE(cluster_->RunUntil([&] { return cluster_->LedBy("n3") == 0; }, seconds(10)));
  cluster_->Run(minutes(2));
  EXPECT_TRUE(AllActivated());
  EXPECT_LE(TermsTried("n3").size(), core::kFirstTriesUnproven + 3 * core::kFirstTriesFailing);
  EXPECT_EQ(cluster_->violations(), kNone);
}

// Plan: everything fails everywhere. Nothing is moved, few shards are tried, and a node that dies
// is replaced all the same. When the cause ends, all is active within 5 s, where it is.
TEST_F(FailingNodes, ACommonCauseMovesNothing) {
  constexpr std::uint32_t kShards = BATON_FEWER_SEEDS > 1 ? 200 : 400;
  Begin(4, kShards);
  for (const char* node : {"n1", "n2", "n3", "n4"}) Break(node);
  cluster_->StartAll();
  cluster_->Run(seconds(30));
  std::size_t tried = 0;
  for (const char* node : {"n1", "n2", "n3", "n4"}) {
    EXPECT_TRUE(SaysFailing(node));
    EXPECT_EQ(OtherTriesOf(node), 0u);
    tried += TermsTried(node).size();
  }
  EXPECT_LT(tried, 200u);
  cluster_->Kill("n4");
  cluster_->Run(minutes(2));
  EXPECT_EQ(cluster_->LedBy("n1") + cluster_->LedBy("n2") + cluster_->LedBy("n3"), kShards);
  const std::int64_t before = cluster_->store().revision().value;
  cluster_->Run(minutes(2));
  EXPECT_EQ(cluster_->store().revision().value, before);
  for (const char* node : {"n1", "n2", "n3"}) Mend(node);
  EXPECT_TRUE(WaitForAll(seconds(5)));
  cluster_->Run(seconds(5));
  for (const char* node : {"n1", "n2", "n3"}) {
    EXPECT_FALSE(SaysFailing(node)) << node;
    EXPECT_EQ(OtherTriesOf(node), 0u) << node << " gave its shards to those who succeeded first";
  }
  EXPECT_EQ(cluster_->violations(), kNone);
}

// Plan: two nodes, one broken. Half of the weight fails, but one node is no common cause.
TEST_F(FailingNodes, OneOfTwoNodesIsNoCommonCause) {
  Begin(2, 100);
  Break("n1");
  cluster_->StartAll();
  EXPECT_TRUE(WaitForAll(seconds(30)));
  EXPECT_EQ(cluster_->LedBy("n2"), 100u);
  EXPECT_EQ(cluster_->violations(), kNone);
}

// Plan: one shard fails on every node. It is moved once, by a planned move, and stays. Everybody
// else keeps its terms, except the one shard that may be moved to keep the balance.
TEST_F(FailingNodes, APoisonShardIsMovedOnce) {
  Begin(3, 12);
  const ShardId poison{5};
  for (const char* node : {"n1", "n2", "n3"}) {
    cluster_->Behave(node, CallbackKind::kAcquired, poison, Behaviour::kThrows);
    cluster_->Start(node);
  }
  cluster_->Run(seconds(1));
  cluster_->Run(minutes(5));
  std::size_t planned = 0;
  for (const char* node : {"n1", "n2", "n3"}) {
    planned += OtherTriesOf(node);
    EXPECT_TRUE(cluster_->Sent<ResignBatch>(node).empty());
    EXPECT_FALSE(SaysFailing(node));
  }
  EXPECT_EQ(planned, 1u);
  EXPECT_EQ(cluster_->store().Record(poison).reason, Reason::kCallbackTimeout);
  EXPECT_LE(cluster_->TransitionsOf(Reason::kRebalance).size(), 1u);
  EXPECT_EQ(cluster_->violations(), kNone);
}

// Plan: the operator has paused moves. A failing node keeps its shards, and gives them away when
// the pause is over.
TEST_F(FailingNodes, APauseForbidsTheOtherTry) {
  Begin(3, 90);
  ASSERT_TRUE(cluster_->Up());
  cluster_->Policy("n2", {PolicyKind::kPause});
  cluster_->Run(seconds(1));
  Break("n1");
  cluster_->Kill("n1");
  cluster_->Start("n1", true);  // it takes its own shards back at once
  cluster_->Run(minutes(2));
  EXPECT_EQ(cluster_->LedBy("n1"), 30u);
  EXPECT_EQ(OtherTriesOf("n1"), 0u);
  cluster_->Policy("n2", {PolicyKind::kPause}, false);
  EXPECT_TRUE(WaitForAll(seconds(10)));
  EXPECT_EQ(cluster_->violations(), kNone);
}

// Plan: the first shards that a node tries can't be activated anywhere, so it seems to be failing.
// The others are tried all the same, a few at a time, and the first success releases all.
TEST_F(FailingNodes, ShardsThatFailEverywhereHoldNobodyUpForLong) {
  Begin(1, 100);
  for (std::uint32_t s = 0; s < 20; ++s) {
    cluster_->Behave("n1", CallbackKind::kAcquired, ShardId{s}, Behaviour::kThrows);
  }
  cluster_->StartAll();
  ASSERT_TRUE(cluster_->RunUntil([&] { return cluster_->LedBy("n1") == 100; }, seconds(20)));
  const auto active = [&] {
    std::size_t count = 0;
    for (std::uint32_t s = 20; s < 100; ++s) count += cluster_->Activated("n1", ShardId{s}) ? 1 : 0;
    return count == 80;
  };
  EXPECT_TRUE(cluster_->RunUntil(active, seconds(5)));
  EXPECT_EQ(cluster_->violations(), kNone);
}

// Plan: a node whose callbacks fail and succeed in turn rewrites its member record at most once a
// second.
TEST_F(FailingNodes, TheMemberRecordIsWrittenOnceASecondAtMost) {
  Begin(3, 300);
  ASSERT_TRUE(cluster_->Up());
  for (int i = 0; i < 100; ++i) {
    for (const char* node : {"n1", "n2"}) {
      i % 2 == 0 ? Break(node) : Mend(node);
    }
    const ShardId shard{static_cast<std::uint32_t>(i)};
    cluster_->Transfer("n3", {.shard = shard, .to = "n1", .if_term = {}, .actor = {}});
    cluster_->Transfer(
        "n3", {.shard = ShardId{200u + shard.value}, .to = "n1", .if_term = {}, .actor = {}});
    cluster_->Run(milliseconds(300));
  }
  EXPECT_LE(cluster_->Sent<MemberUpdate>("n1").size(), 32u);
  EXPECT_EQ(cluster_->violations(), kNone);
}

// Plan: of 300 shards, 30 can't be activated anywhere. n2 dies, n1 takes over, and n3 joins: the
// first that it gets are those that failed on n1. They don't make it a failing node, so it gets its
// part of the others.
TEST_F(FailingNodes, ShardsThatFailedElsewhereDontMakeANewcomerFailing) {
  Begin(3, 300);
  for (const char* node : {"n1", "n2", "n3"}) {
    for (std::uint32_t s = 0; s < 300; s += 10) {
      cluster_->Behave(node, CallbackKind::kAcquired, ShardId{s}, Behaviour::kThrows);
    }
  }
  cluster_->Start("n1");
  cluster_->Start("n2");
  cluster_->Run(minutes(2));
  cluster_->Kill("n2");
  const auto leads_all = [&] { return cluster_->LedBy("n1") == 300; };
  ASSERT_TRUE(cluster_->RunUntil(leads_all, seconds(20)));
  cluster_->Start("n3");
  const auto fail_on_it = [&] {
    return cluster_->core("n3").leaderships().failed().failures().size() >= 10;
  };
  ASSERT_TRUE(cluster_->RunUntil(fail_on_it, seconds(5)));
  for (const ShardId shard : cluster_->ShardsOf("n3")) {
    ASSERT_EQ(shard.value % 10, 0u) << "another shard came before them";
  }
  const auto has_its_part = [&] { return SaysFailing("n3") || cluster_->LedBy("n3") >= 149; };
  EXPECT_TRUE(cluster_->RunUntil(has_its_part, minutes(1)));
  EXPECT_FALSE(SaysFailing("n3"));
  EXPECT_GE(OtherTriesOf("n1"), 10u);
  EXPECT_EQ(cluster_->violations(), kNone);
}

// Plan: four shards can't be activated anywhere. n2 was drained, and these four are the first that
// it has again: an operator moved them, so nothing says that they failed elsewhere. It gets its
// part all the same.
TEST_F(FailingNodes, ShardsThatFailEverywhereKeepNoNodeWithoutItsPart) {
  Begin(2, 100);
  constexpr std::uint32_t kPoison = 4;
  for (const char* node : {"n1", "n2"}) {
    for (std::uint32_t s = 0; s < kPoison; ++s) {
      cluster_->Behave(node, CallbackKind::kAcquired, ShardId{s}, Behaviour::kThrows);
    }
  }
  const PolicyName drain{PolicyKind::kDrain, "n2"};
  cluster_->StartAll();
  cluster_->Run(seconds(20));
  cluster_->Policy("n1", drain);
  ASSERT_TRUE(cluster_->RunUntil([&] { return cluster_->LedBy("n2") == 0; }, minutes(1)));
  cluster_->Policy("n1", {PolicyKind::kPause});
  cluster_->Policy("n1", drain, false);
  cluster_->Run(seconds(1));
  for (std::uint32_t s = 0; s < kPoison; ++s) {
    cluster_->Transfer("n1", {.shard = ShardId{s}, .to = "n2", .if_term = {}, .actor = {}});
  }
  ASSERT_TRUE(cluster_->RunUntil([&] { return SaysFailing("n2"); }, seconds(30)));
  for (std::uint32_t s = 0; s < kPoison; ++s) {
    cluster_->Behave("n1", CallbackKind::kPrepare, ShardId{s}, Behaviour::kHangs);
  }
  cluster_->Policy("n1", {PolicyKind::kPause}, false);
  const auto has_its_part = [&] { return cluster_->LedBy("n2") >= 45; };
  EXPECT_TRUE(cluster_->RunUntil(has_its_part, minutes(1)));
  EXPECT_EQ(cluster_->violations(), kNone);
}

// Plan: of 100 shards, 20 hang when they are activated. They are found late, one after another,
// when the others have succeeded long ago: that is no failing node.
TEST_F(FailingNodes, CallbacksThatHangBesideOthersThatSucceedDontMakeANodeFailing) {
  Begin(1, 100);
  for (std::uint32_t s = 0; s < 100; s += 5) {
    cluster_->Behave("n1", CallbackKind::kAcquired, ShardId{s}, Behaviour::kHangs);
  }
  cluster_->StartAll();
  cluster_->Run(minutes(1));
  EXPECT_EQ(cluster_->core("n1").leaderships().failed().failures().size(), 20u);
  EXPECT_FALSE(SaysFailing("n1"));
  EXPECT_EQ(cluster_->violations(), kNone);
}

// Plan: a node is alone and broken for eleven minutes that it starts over. Then a good node joins:
// it gets its part by balance, and the rest because it fails on the broken one.
TEST_F(FailingNodes, ShardsThatFailedForLongGoToTheFirstGoodNode) {
  Begin(2, 100);
  Break("n1");
  cluster_->Start("n1");
  cluster_->Run(minutes(11));
  ASSERT_EQ(cluster_->LedBy("n1"), 100u);
  cluster_->Start("n2");
  EXPECT_TRUE(WaitForAll(minutes(1)));
  EXPECT_EQ(cluster_->violations(), kNone);
}

// Plan: a failing node has shards that it never tried. A drain takes them at once.
TEST_F(FailingNodes, UntriedShardsAreDrainedAtOnce) {
  Begin(1, 100);
  Break("n1");
  cluster_->StartAll();
  cluster_->Run(seconds(10));
  ASSERT_EQ(cluster_->LedBy("n1"), 100u);
  const auto tried = TermsTried("n1");
  ASSERT_LT(tried.size(), 50u);
  ShardId untried{0};
  while (tried.contains(untried)) ++untried.value;
  cluster_->Deliver("n1", core::RetryRequested{1, untried, false, "alice"});
  const auto answer = cluster_->Asked<core::AnswerRetry>("n1").back().second.result;
  ASSERT_FALSE(answer.ok());
  EXPECT_NE(answer.error().message.find("waits for its first try"), std::string::npos);
  cluster_->Drain("n1");
  EXPECT_TRUE(cluster_->RunUntil([&] { return cluster_->finished("n1"); }, seconds(5)));
  EXPECT_TRUE(cluster_->drained("n1"));
  EXPECT_EQ(cluster_->violations(), kNone);
}

// Plan: of two nodes, n1 is failing and holds many shards that it has not tried. The first of these
// came from n2, where it failed, so there is no target for it. The others go to n2 all the same.
TEST_F(FailingNodes, AShardWithoutATargetHoldsNoOtherUp) {
  Begin(2, 400);
  const ShardId stays{0};
  ASSERT_TRUE(cluster_->Up());
  cluster_->Policy("n2", {PolicyKind::kPause});
  cluster_->Run(seconds(1));
  Break("n1");
  cluster_->Kill("n1");
  cluster_->Start("n1", true);
  ASSERT_TRUE(cluster_->RunUntil([&] { return SaysFailing("n1"); }, seconds(20)));
  cluster_->Run(seconds(60));  // so that it tries another one every few seconds only
  ShardRecordFact moved{.shard = stays, .record = cluster_->store().Record(stays)};
  moved.record.leader = "n1";
  moved.record.session = cluster_->store().Member("n1").session;
  moved.record.previous = "n2";
  moved.record.reason = Reason::kCallbackTimeout;
  cluster_->store().Put(moved);
  cluster_->HoldWatch("n1", false);  // the watches hear of it
  cluster_->Run(milliseconds(50));
  ASSERT_FALSE(cluster_->core("n1").leaderships().failed().Has(stays)) << "it was not tried again";
  cluster_->Policy("n2", {PolicyKind::kPause}, false);
  EXPECT_TRUE(cluster_->RunUntil([&] { return cluster_->LedBy("n2") >= 399; }, seconds(2)));
}

// Plan: three shards fail on n2, but then the cause is gone, before a second is over. The others
// never hear of it. Three more fail, and the cause stays: after a second, n2 says so.
TEST_F(FailingNodes, ANodeSaysThatItFailsOnlyAfterASecond) {
  Begin(2, 100);
  ASSERT_TRUE(cluster_->Up());
  const std::vector<ShardId> shards = cluster_->ShardsOf("n1");
  const auto three_fail = [&](std::size_t first) {
    Break("n2");
    for (std::size_t i = first; i < first + 3; ++i) {
      cluster_->Transfer("n1", {.shard = shards.at(i), .to = "n2", .if_term = {}, .actor = {}});
    }
    const auto failing = [&] { return cluster_->core("n2").leaderships().failed().failing(); };
    return cluster_->RunUntil(failing, seconds(2));
  };
  const auto says = [&] { return SaysFailing("n2"); };
  ASSERT_TRUE(three_fail(0));
  Mend("n2");
  EXPECT_FALSE(cluster_->RunUntil(says, seconds(5)));
  ASSERT_TRUE(three_fail(3));
  const TimePoint began = cluster_->now();
  EXPECT_TRUE(cluster_->RunUntil(says, seconds(5)));
  EXPECT_GE(cluster_->now(), began + core::kFailingBeforeSaid);
  EXPECT_EQ(cluster_->violations(), kNone);
}

// Plan: everything fails on all of three nodes, and an operator drains one. The others are no worse
// than it, so they take its shards.
TEST_F(FailingNodes, ACommonCauseHoldsNoDrainUp) {
  Begin(3, 90);
  for (const char* node : {"n1", "n2", "n3"}) Break(node);
  cluster_->StartAll();
  cluster_->Run(seconds(30));
  for (const char* node : {"n1", "n2", "n3"}) ASSERT_TRUE(SaysFailing(node));
  ASSERT_EQ(cluster_->LedBy("n1"), 30u);
  cluster_->Policy("n2", {PolicyKind::kDrain, "n1"});
  const auto all_led = [&] { return cluster_->LedBy("n2") + cluster_->LedBy("n3") == 90; };
  EXPECT_TRUE(cluster_->RunUntil(all_led, seconds(20)));
  EXPECT_EQ(cluster_->violations(), kNone);
}

// Plan: one of three nodes is failing, and an operator's pause keeps its shards there. As long as
// it has shards that it has not tried, it does not start over, so it goes on saying that it fails.
TEST_F(FailingNodes, ANodeWithUntriedShardsDoesNotStartOver) {
  Begin(3, 300);
  ASSERT_TRUE(cluster_->Up());
  cluster_->Policy("n2", {PolicyKind::kPause});
  cluster_->Run(seconds(1));
  Break("n1");
  cluster_->Kill("n1");
  cluster_->Start("n1", true);
  ASSERT_TRUE(cluster_->RunUntil([&] { return SaysFailing("n1"); }, seconds(20)));
  EXPECT_FALSE(cluster_->RunUntil([&] { return !SaysFailing("n1"); }, minutes(1)));
  EXPECT_FALSE(cluster_->core("n1").leaderships().failed().untried().empty());
  EXPECT_EQ(cluster_->violations(), kNone);
}

// Plan: the example of other_tries.h. Four of nine nodes are failing, 10 moves are allowed, and 2
// are in flight. A pause ends, so the four plan at the same time: 2 moves each. The latency is so
// long that none of them sees a plan of another before it plans.
TEST_F(FailingNodes, TheyShareTheMovesThatTheLimitAllows) {
  ClusterOptions options = Group(9, 360);
  options.latency_least = options.latency_most = milliseconds(20);
  cluster_ = std::make_unique<Cluster>(std::move(options));
  const std::vector<NodeId> failing = {"n1", "n2", "n3", "n4"};
  for (const NodeId& node : failing) Break(node);
  cluster_->store().Put(
      PolicyFact{.name = {PolicyKind::kLimits}, .present = true, .max_moves = 10});
  cluster_->store().Put(PolicyFact{.name = {PolicyKind::kPause}, .present = true});
  cluster_->StartAll();
  const auto all_say_so = [&] {
    return std::all_of(failing.begin(), failing.end(), [&](const NodeId& node) {
      return cluster_->store().Has("members/" + node) && SaysFailing(node);
    });
  };
  ASSERT_TRUE(cluster_->RunUntil(all_say_so, seconds(20)));
  cluster_->Run(core::kOtherTryAfter);
  cluster_->Behave("n6", CallbackKind::kPrepare, Behaviour::kHangs);
  const std::vector<ShardId> shards = cluster_->ShardsOf("n5");
  for (std::size_t i = 0; i < 2; ++i) {
    cluster_->Transfer("n5", {.shard = shards.at(i), .to = "n6", .if_term = {}, .actor = {}});
  }
  cluster_->Run(milliseconds(200));
  for (const NodeId& node : failing) ASSERT_EQ(OtherTriesOf(node), 0u) << node;
  cluster_->Policy("n5", {PolicyKind::kPause}, false);
  const auto plan = [&] {
    return std::all_of(failing.begin(), failing.end(),
                       [&](const NodeId& node) { return OtherTriesOf(node) > 0; });
  };
  ASSERT_TRUE(cluster_->RunUntil(plan, seconds(1)));
  for (const NodeId& node : failing) EXPECT_EQ(OtherTriesOf(node), 2u) << node;
  EXPECT_EQ(cluster_->violations(), kNone);
}

// Plan: etcd denies a failing node the write that says so. The node gives away the shards that
// failed on it, but none that it has not tried: others would send them back. Once it may say that
// it fails, they all go.
TEST_F(FailingNodes, UntriedShardsStayUntilTheOthersKnow) {
  Begin(3, 300);
  Break("n1");
  cluster_->DenyWrites("n1", IsA<MemberUpdate>);
  cluster_->StartAll();
  cluster_->Run(seconds(15));
  EXPECT_FALSE(SaysFailing("n1"));
  EXPECT_GT(OtherTriesOf("n1"), 0u);
  EXPECT_FALSE(cluster_->core("n1").leaderships().failed().untried().empty());
  const auto tried = TermsTried("n1");
  for (const auto& [at, batch] : cluster_->Sent<MoveBatch>("n1")) {
    for (const MoveWrite& write : batch.moves) {
      if (write.move.reason != Reason::kCallbackTimeout) continue;
      EXPECT_TRUE(tried.contains(write.move.shard)) << write.move.shard.value;
    }
  }
  cluster_->DenyWrites("n1", {});
  EXPECT_TRUE(WaitForAll(seconds(30)));
  EXPECT_EQ(cluster_->LedBy("n1"), 0u);
  EXPECT_EQ(cluster_->violations(), kNone);
}

// Plan: a node whose n shards all fail, while another move uses up the group's limit, looks a
// hundred times for shards that others should try. That costs nothing for each shard.
TEST(OtherTriesCost, LooksWithoutRoomDoNotGrowWithTheShards) {
  const auto look = [](int shards) {
    ClusterOptions options;
    options.nodes = 2;
    options.shards = static_cast<std::uint32_t>(shards);
    options.checks = false;
    options.listener = false;
    options.tune = [](core::CoreOptions& tuned) { tuned.ttl = seconds(60); };
    Cluster cluster(options);
    cluster.StartAll();
    cluster.Run(seconds(10));
    EXPECT_EQ(cluster.LedBy("n1"), options.shards / 2);
    cluster.store().Put(PolicyFact{.name = {PolicyKind::kLimits}, .present = true, .max_moves = 1});
    cluster.HoldWrites("n1");  // so the move is never prepared
    cluster.Transfer(
        "n2", {.shard = cluster.ShardsOf("n2").front(), .to = "n1", .if_term = {}, .actor = {}});
    cluster.Run(seconds(1));
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
    core::HeldShards held = core.leaderships().held();
    core::FailedActivations failed;
    for (auto& [shard, of] : held) {
      of.activated = false;
      failed.Late(context, shard, 0);
    }
    core::OtherTries tries;
    context.now += 2 * core::kOtherTryAfter;
    const Duration before = ProcessorTime();
    for (int i = 0; i < 100; ++i) {
      context.now += core::kOtherTriesEvery;
      tries.Advance(context, held, failed);
    }
    const Duration took = ProcessorTime() - before;
    EXPECT_EQ(writes.size(), 0u);
    EXPECT_LE(wake_at, context.now + core::kOtherTriesEvery) << "it looks again";
    return took;
  };
  EXPECT_LT(GrowthOverFour(2'000, look), 2.5);
}

}  // namespace
}  // namespace baton::test
