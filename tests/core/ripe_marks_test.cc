// FailoverPolicy::kAfter: for how long a node is away, and the marks which say that it was too
// long.
#include "core/ripe_marks.h"

#include <gtest/gtest.h>

#include <string>

#include "core/absences.h"
#include "core/cluster.h"

namespace baton::test {
namespace {

const TimePoint kStart{seconds(1000)};

// Plan: n1 is away. Then 5,000 other names come, and go again in the next second. Of those that are
// away 4,096 are remembered, so n1 and some of the others are forgotten. A node that is not known
// counts as away since the last one that was forgotten: its delay may be over later, never earlier.
// Names that are remembered keep their times, and 25 h later all of them are forgotten.
TEST(Absences, NamesThatComeAndGoAreForgottenByTime) {
  constexpr int kNames = 5'000;
  const Duration delay = std::chrono::hours(1);
  core::Absences absences;
  absences.NoteComplete(kStart);
  TimePoint at = kStart + seconds(1);
  absences.NoteEnded("n1", delay, at);
  EXPECT_EQ(absences.OverAt("n1", delay), at + delay);
  const auto name = [](int i) { return "pod-" + std::to_string(i); };
  for (int i = 0; i < kNames; ++i) {
    absences.NoteBegan(name(i), TimePoint::min(), at += milliseconds(1));
    absences.NoteEnded(name(i), delay, at += milliseconds(1));
  }
  const auto gone_at = [](int i) { return kStart + seconds(1) + milliseconds(2 * (i + 1)); };
  const TimePoint forgotten = gone_at(kNames - 4'096 - 1);
  for (const NodeId& unknown : {NodeId("n1"), name(0), name(kNames - 4'097), NodeId("n9")}) {
    EXPECT_EQ(absences.OverAt(unknown, delay), forgotten + delay) << unknown;
  }
  EXPECT_EQ(absences.OverAt(name(kNames - 4'096), delay), gone_at(kNames - 4'096) + delay);
  EXPECT_EQ(absences.OverAt(name(kNames - 1), delay), at + delay);
  absences.NoteBegan("n9", TimePoint::min(), at += std::chrono::hours(26));
  absences.NoteEnded("n9", delay, at);
  EXPECT_EQ(absences.OverAt(name(kNames - 1), delay), forgotten + delay);
  EXPECT_EQ(absences.OverAt("n9", delay), at + delay);
}

// Plan: n1 comes and goes. After a stay of less than the delay its first absence goes on, and after
// one of a whole delay another absence begins. A stay counts from when it can have begun, however
// late the news of it came.
TEST(Absences, OnlyAStayOfAWholeDelayEndsOne) {
  const Duration delay = seconds(20);
  core::Absences absences;
  absences.NoteComplete(kStart);
  absences.NoteBegan("n1", TimePoint::min(), kStart);
  absences.NoteEnded("n1", delay, kStart + seconds(10));
  absences.NoteBegan("n1", kStart + seconds(12), kStart + seconds(12));
  absences.NoteEnded("n1", delay, kStart + seconds(31));
  EXPECT_EQ(absences.OverAt("n1", delay), kStart + seconds(10) + delay);
  absences.NoteBegan("n1", kStart + seconds(40), kStart + seconds(40));
  absences.NoteEnded("n1", delay, kStart + seconds(60));
  EXPECT_EQ(absences.OverAt("n1", delay), kStart + seconds(60) + delay);
  absences.NoteBegan("n1", kStart + seconds(70), kStart + seconds(85));
  absences.NoteEnded("n1", delay, kStart + seconds(90));
  EXPECT_EQ(absences.OverAt("n1", delay), kStart + seconds(90) + delay);
}

// Plan: n3 is back, but its claims are held up until the delay is over. n1's mark is held up, too,
// so it would be n2's turn 300 ms later. Before that, n3's claims arrive. Then there is nothing to
// mark, and n2 writes no mark.
TEST(RipeMarks, WhatWasTakenBackMeanwhileGetsNone) {
  Cluster cluster({});
  ASSERT_TRUE(cluster.Up()) << cluster.WhyNotSettled();
  ConfigFact config = cluster.core("n2").view().config();
  config.schema = kConfigSchema;
  config.failover = {.policy = FailoverPolicy::kAfter, .delay = seconds(5)};
  cluster.store().Put(config);
  cluster.Run(seconds(5));
  cluster.Kill("n3");
  ASSERT_TRUE(cluster.RunUntil([&] { return !cluster.store().Member("n3").present; }, seconds(20)));
  cluster.Start("n3");
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.store().Member("n3").present; }, seconds(5)));
  cluster.HoldWrites("n3");
  cluster.HoldWrites("n1");
  cluster.Run(milliseconds(5100));
  ASSERT_EQ(cluster.LedBy("n3"), 0u);
  ASSERT_FALSE(cluster.Sent<RipeMark>("n1").empty());
  cluster.LetWrites("n3");
  cluster.Run(seconds(1));
  EXPECT_EQ(cluster.LedBy("n3"), 4u);
  EXPECT_TRUE(cluster.Sent<RipeMark>("n2").empty());
  EXPECT_EQ(cluster.violations(), kNone);
}

// Plan: n2 dies and is back before anybody has followed it, but n1's watch hangs. n2 stops, and has
// resigned one shard; of the other its application lets go late. n1 finds the first by the refusal
// of its claim, and does not know that n2 leads the other by an older term. A mark up to the newer
// term would let everybody claim it as soon as n2 dies, without a delay. Once n1's watch goes on,
// it claims the first by its own clock.
TEST(RipeMarks, AMarkCoversNoLeadershipThatItsWriterHasNotSeen) {
  ClusterOptions options;
  options.nodes = 2;
  options.shards = 4;
  options.tune = [](core::CoreOptions& tuned) { tuned.release_timeout = seconds(60); };
  Cluster cluster(options);
  ASSERT_TRUE(cluster.Up()) << cluster.WhyNotSettled();
  ConfigFact config = cluster.core("n2").view().config();
  config.schema = kConfigSchema;
  config.failover = {.policy = FailoverPolicy::kAfter, .delay = seconds(2)};
  const std::vector<ShardId> led = cluster.ShardsOf("n2");
  ASSERT_EQ(led.size(), 2u);
  const ShardId first = led.back();
  const ShardId second = led.front();
  config.placement = {{.shards = {{second.value, second.value}},
                       .require = {{"node", {"n2"}}},
                       .prefer = {}}};  // so n1 does not ask for it
  cluster.store().Put(config);
  cluster.Run(seconds(5));

  cluster.Kill("n2");
  ASSERT_TRUE(cluster.RunUntil([&] { return !cluster.store().Member("n2").present; }, seconds(20)));
  cluster.Run(milliseconds(100));
  cluster.HoldWatch("n1");
  cluster.HoldWrites("n1");
  cluster.Start("n2");
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.LedBy("n2") == 2; }, seconds(10)));
  cluster.Behave("n2", core::CallbackKind::kReleasing, second, Behaviour::kHangs);
  cluster.Drain("n2");
  ASSERT_TRUE(
      cluster.RunUntil([&] { return cluster.store().Record(first).leader.empty(); }, seconds(5)));
  ASSERT_LT(cluster.TermOf(second), cluster.TermOf(first));
  cluster.PassNewWrites("n1");
  cluster.LetWrites("n1");
  ASSERT_TRUE(cluster.RunUntil(
      [&] { return cluster.core("n1").view().record(first).resigned_by == "n2"; }, seconds(5)));
  ASSERT_LT(cluster.core("n1").view().revision(), cluster.core("n1").view().record(first).revision);
  cluster.Run(seconds(5));
  ASSERT_EQ(cluster.store().Record(second).leader, "n2");
  const auto mark = [&] {
    return cluster.store().Has("ripe/n2") ? std::get<RipeFact>(cluster.store().Get("ripe/n2")).up_to
                                          : Revision{};
  };
  EXPECT_LT(mark(), Revision{cluster.TermOf(second).value});
  cluster.HoldWatch("n1", false);
  EXPECT_TRUE(cluster.RunUntil([&] { return cluster.LedBy("n1") == 3; }, seconds(20)));
  EXPECT_EQ(cluster.violations(), kNone);
}

}  // namespace
}  // namespace baton::test
