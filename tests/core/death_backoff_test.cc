// How deaths are counted against a shard, and how long its claims wait.
#include "core/death_backoff.h"

#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "core/cluster.h"
#include "core/may_claim.h"

namespace baton::test {
namespace {

using core::Claimable;
using core::ClaimableNow;
using core::DeathBackoff;
using core::View;
using std::chrono::minutes;

constexpr ShardId kShard{0};
constexpr Duration kSettle = seconds(2);
const TimePoint kStart{std::chrono::hours(5)};
const WallTime kWall{std::chrono::hours(500'000)};

MemberFact Member(std::int64_t lease, std::int64_t revision) {
  MemberFact member;
  member.node = "n1";
  member.present = lease != 0;
  member.lease = member.session = SessionId{lease};
  member.revision = Revision{revision};
  return member;
}

ShardRecordFact LedBy(std::int64_t session, std::int64_t revision, DeathTally tally) {
  ShardRecordFact fact{.shard = kShard, .record = {}};
  fact.record.present = true;
  fact.record.leader = "n1";
  fact.record.session = SessionId{session};
  fact.record.revision = Revision{revision};
  fact.record.tally = tally;
  return fact;
}

/// A view that has seen a leadership of n1, which began at kStart.
struct Watched {
  View view{1, "n2"};
  explicit Watched(std::uint32_t deaths) {
    view.Merge(Snapshot{.revision = Revision{10}, .facts = {Member(7, 5)}}, kStart);
    view.Merge(Changes{.revision = Revision{20},
                       .facts = {LedBy(7, 20, {.deaths = deaths, .begun = kWall})}},
               kStart);
  }
  void Dies(TimePoint at) {
    view.Merge(Changes{.revision = Revision{30}, .facts = {Member(0, 30)}}, at);
  }
  Claimable At(TimePoint at) const { return ClaimableNow(view, kShard, kSettle, at); }
  std::uint32_t Next(TimePoint at) const { return view.NextTally(kShard, at, kWall).deaths; }
};

// Plan: the waits after 0 to 12 deaths, and after very many.
TEST(DeathBackoff, WaitsFromTheSecondDeathOnAndDoublesUpToFiveMinutes) {
  std::vector<Duration> waits;
  for (std::uint32_t deaths = 0; deaths <= 12; ++deaths) {
    waits.push_back(DeathBackoff::LongestWaitAfter(deaths));
  }
  EXPECT_EQ(waits,
            (std::vector<Duration>{seconds(0), seconds(0), seconds(1), seconds(2), seconds(4),
                                   seconds(8), seconds(16), seconds(32), seconds(64), seconds(128),
                                   seconds(256), minutes(5), minutes(5)}));
  EXPECT_EQ(DeathBackoff::LongestWaitAfter(4'000'000'000), minutes(5));
}

// Plan: a hundred shards that died together nine times. They wait for eight different times,
// between the half and the whole, and after the next death in another order.
TEST(DeathBackoff, ShardsThatDiedTogetherAreClaimedOneAfterAnother) {
  std::set<Duration> waits;
  int changed = 0;
  for (std::uint32_t s = 0; s < 100; ++s) {
    const Duration wait = DeathBackoff::WaitAfter(ShardId{s}, 9);
    waits.insert(wait);
    changed += DeathBackoff::WaitAfter(ShardId{s}, 10) != 2 * wait ? 1 : 0;
  }
  EXPECT_EQ(waits.size(), 8u);
  EXPECT_GE(*waits.begin(), seconds(64));
  EXPECT_EQ(*waits.rbegin(), seconds(128));
  EXPECT_GT(changed, 60);
}

// Plan: leaderships of 59 and of 60 seconds that end in a death, after one death before.
TEST(DeathBackoff, OnlyAShortLeadershipCounts) {
  Watched brief(1);
  brief.Dies(kStart + seconds(59));
  EXPECT_EQ(brief.Next(kStart + minutes(10)), 2u) << "counts, however late it is claimed";
  const TimePoint until = kStart + seconds(59) + DeathBackoff::WaitAfter(kShard, 2);
  EXPECT_EQ(brief.At(until - milliseconds(1)), Claimable::kAfterWait);
  EXPECT_EQ(brief.At(until), Claimable::kByAnyNode);
  Watched longer(1);
  longer.Dies(kStart + seconds(60));
  EXPECT_EQ(longer.Next(kStart + seconds(60)), 0u);
  EXPECT_EQ(longer.At(kStart + seconds(60)), Claimable::kByAnyNode);
}

// Plan: the first death in a row makes nobody wait.
TEST(DeathBackoff, OneDeathIsAnAccident) {
  Watched group(0);
  group.Dies(kStart + seconds(1));
  EXPECT_EQ(group.Next(kStart + seconds(1)), 1u);
  EXPECT_EQ(group.At(kStart + seconds(1)), Claimable::kByAnyNode);
}

// Plan: a handoff or a resignation after a second, and after a minute, of a shard with three
// deaths.
TEST(DeathBackoff, AnOrderlyEndAddsNothingAndForgetsOnlyAfterALongLeadership) {
  const Watched group(3);
  EXPECT_EQ(group.Next(kStart + seconds(1)), 3u);
  EXPECT_EQ(group.Next(kStart + seconds(60)), 0u);
}

// Plan: a shard with three deaths is led for a minute. From then on nothing shows them any more,
// although its record does not change.
TEST(DeathBackoff, DeathsAreForgottenOnceTheShardHasBeenLedForLong) {
  const Watched group(3);
  const auto shown = [&](TimePoint at) {
    return group.view.deaths().DeathsOf(kShard, group.view.record(kShard), at);
  };
  EXPECT_EQ(shown(kStart + seconds(59)), 3u);
  EXPECT_EQ(shown(kStart + seconds(60)), 0u);
  EXPECT_EQ(group.view.deaths().LongFrom(kShard), kStart + seconds(60));
}

// Plan: a shard with three deaths is handed over after 40 s, by a record as a leader writes it, and
// its next leader dies 10 s later, or 30 s. Two leaders in turn proved it harmless for a minute.
TEST(DeathBackoff, LeadersInTurnProveTogetherThatAShardIsHarmless) {
  const auto next_after = [](Duration second) {
    Watched group(3);
    const TimePoint handed = kStart + seconds(40);
    const DeathTally tally = group.view.NextTally(kShard, handed, kWall + seconds(40));
    group.view.Merge(Changes{.revision = Revision{25}, .facts = {LedBy(7, 25, tally)}}, handed);
    group.Dies(handed + second);
    return group.Next(handed + second);
  };
  EXPECT_EQ(next_after(seconds(10)), 4u);
  EXPECT_EQ(next_after(seconds(30)), 1u) << "the count begins again";
}

// Plan: the same, but the first leader died: the time before a death proves nothing.
TEST(DeathBackoff, ADeathBeginsTheTimeAgain) {
  Watched group(3);
  group.Dies(kStart + seconds(40));
  const TimePoint claimed = kStart + seconds(50);
  const DeathTally tally = group.view.NextTally(kShard, claimed, kWall + seconds(50));
  EXPECT_EQ(tally.deaths, 4u);
  EXPECT_EQ(tally.begun, kWall + seconds(50));
}

/// A view that has read a record of a dead session: written by a clock that shows `begun`,
/// read by one that shows kWall.
View Read(WallTime begun, std::uint32_t deaths) {
  View view(1, "n2");
  view.Merge(Snapshot{.revision = Revision{30},
                      .facts = {LedBy(7, 20, {.deaths = deaths, .begun = begun})},
                      .wall = kWall},
             kStart);
  return view;
}

// Plan: a node that has just started reads the record of a dead session, from 1 s to 10 minutes
// old. It can't know when that session ended: the others may still wait.
TEST(DeathBackoff, ANodeThatSawNothingGoesByTheRecordsStamp) {
  constexpr Duration none = Duration::min();
  const auto waits = [none](View view) {
    const TimePoint until = view.deaths().WaitsUntil(kShard);
    return until == TimePoint::min() ? none : until - kStart;
  };
  const Duration fifth = DeathBackoff::WaitAfter(kShard, 5);
  EXPECT_GE(fifth, seconds(4));
  EXPECT_EQ(waits(Read(kWall - seconds(1), 4)), fifth);
  EXPECT_EQ(waits(Read(kWall - seconds(63), 4)), fifth) << "others may still wait";
  EXPECT_EQ(waits(Read(kWall - seconds(68), 4)), none) << "it was long, or the wait is over";
  EXPECT_EQ(waits(Read(kWall - minutes(10), 4)), none);
  EXPECT_LE(waits(Read(kWall - minutes(2), 12)), minutes(5));
  EXPECT_GE(waits(Read(kWall - minutes(2), 12)), seconds(150));
}

// Plan: stamps of wrong clocks and of older versions: no wait, or one that ends.
TEST(DeathBackoff, AWrongClockMakesNobodyWaitForLong) {
  EXPECT_EQ(Read(kWall + std::chrono::hours(24), 3).deaths().WaitsUntil(kShard),
            kStart + DeathBackoff::WaitAfter(kShard, 4));
  EXPECT_EQ(Read(WallTime{}, 3).deaths().WaitsUntil(kShard), TimePoint::min());
}

// Plan: a watch that reads everything again in the middle of a wait.
TEST(DeathBackoff, ReadingAgainDoesNotBeginTheWaitAgain) {
  Watched group(4);
  group.Dies(kStart + seconds(1));
  group.view.Merge(
      Snapshot{.revision = Revision{40}, .facts = {LedBy(7, 20, {.deaths = 4})}, .wall = kWall},
      kStart + seconds(3));
  EXPECT_EQ(group.view.deaths().WaitsUntil(kShard),
            kStart + seconds(1) + DeathBackoff::WaitAfter(kShard, 5));
}

// Plan: a watch that stands still. The reply to a refused claim shows a record of a session that
// this view never heard of, which may live. The wait begins once the view knows that it ended.
TEST(DeathBackoff, NoWaitEndsBeforeTheViewKnowsWhetherTheLeaderLives) {
  const ShardRecordFact record = LedBy(7, 20, {.deaths = 4, .begun = kWall});
  const auto behind = [&record] {
    View view(1, "n2");
    view.Merge(Snapshot{.revision = Revision{10}, .facts = {}, .wall = kWall}, kStart);
    view.Merge(std::vector<Fact>{record}, kStart + seconds(1));
    return view;
  };
  const Duration fifth = DeathBackoff::WaitAfter(kShard, 5);
  View view = behind();
  EXPECT_EQ(view.deaths().WaitsUntil(kShard), TimePoint::max());
  for (const int after : {12, 13}) {  // reading again does not begin the wait again
    view.Merge(Snapshot{.revision = Revision{30}, .facts = {record}, .wall = kWall},
               kStart + seconds(after));
    EXPECT_EQ(view.deaths().WaitsUntil(kShard), kStart + seconds(12) + fifth);
  }

  View alive = behind();
  alive.Merge(Changes{.revision = Revision{20}, .facts = {Member(7, 19), record}},
              kStart + seconds(2));
  EXPECT_EQ(alive.deaths().WaitsUntil(kShard), TimePoint::min());

  View nobodys = behind();  // the record was put by hand: no such session ever lived
  nobodys.Merge(Changes{.revision = Revision{20}, .facts = {record}}, kStart + seconds(2));
  EXPECT_EQ(nobodys.deaths().WaitsUntil(kShard), kStart + seconds(2) + fifth);

  View gone = behind();  // a reply shows a member key that is newer than the record
  gone.Merge(std::vector<Fact>{Member(8, 25)}, kStart + seconds(3));
  EXPECT_EQ(gone.deaths().WaitsUntil(kShard), kStart + seconds(3) + fifth);
}

ClusterOptions DeathOptions(int nodes, std::uint32_t shards) {
  ClusterOptions options;
  options.nodes = nodes;
  options.shards = shards;
  options.expiry_late_most = Duration{0};
  return options;
}

/// The node's process dies and is back after 200 ms, with the proof.
void KillAndRestart(Cluster& cluster, const NodeId& node) {
  cluster.Kill(node);
  cluster.Run(milliseconds(200));
  cluster.Start(node, true);
}

bool AllLed(const Cluster& cluster, std::uint32_t shards) {
  for (std::uint32_t s = 0; s < shards; ++s) {
    if (cluster.LeaderOf(ShardId{s}).empty()) return false;
  }
  return true;
}

// Plan: an operator kills the same node with 20 of 60 shards twice within a minute. It is back at
// once, and none of its shards waits.
TEST(DeathBackoff, ANodeThatIsKilledTwiceInAMinuteHasItsShardsBackAtOnce) {
  Cluster cluster(DeathOptions(3, 60));
  ASSERT_TRUE(cluster.Up()) << cluster.WhyNotSettled();
  cluster.Run(seconds(70));
  for (int kill = 1; kill <= 2; ++kill) {
    KillAndRestart(cluster, "n1");
    EXPECT_TRUE(cluster.RunUntil([&] { return AllLed(cluster, 60); }, milliseconds(300)))
        << "kill " << kill;
    cluster.Run(seconds(20));
  }
  EXPECT_EQ(cluster.violations(), kNone);
}

// Plan: kill -9 of each node of a group in turn, each started again at once, ten seconds apart:
// nothing waits.
TEST(DeathBackoff, ARollingKillMakesNoShardWait) {
  Cluster cluster(DeathOptions(5, 60));
  ASSERT_TRUE(cluster.Up()) << cluster.WhyNotSettled();
  cluster.Run(seconds(70));
  for (const NodeId& node : cluster.names()) {
    KillAndRestart(cluster, node);
    EXPECT_TRUE(cluster.RunUntil([&] { return AllLed(cluster, 60); }, milliseconds(300))) << node;
    cluster.Run(seconds(10));
  }
  EXPECT_EQ(cluster.violations(), kNone);
}

// Plan: of five nodes, one is killed, and is back once its shards are led elsewhere; so is the
// next, mostly the same one or another, twelve times. Balance gives each of them shards again at
// once, but none that has just met two deaths: so no shard meets many in a row, and none waits for
// long.
TEST(DeathBackoff, KillsOfNodesThatComeBackDoNotAddUp) {
  ClusterOptions options = DeathOptions(5, 300);
  options.tune = [](core::CoreOptions& tuned) {
    tuned.rebalance_delay = seconds(1);
    tuned.cooldown = seconds(1);
  };
  Cluster cluster(options);
  ASSERT_TRUE(cluster.Up()) << cluster.WhyNotSettled();
  cluster.Run(seconds(70));
  std::uint32_t most = 0;
  for (int kill = 0; kill < 24; ++kill) {
    const NodeId victim = kill / 2 % 2 == 0 ? "n1" : "n2";
    cluster.Kill(victim);
    ASSERT_TRUE(cluster.RunUntil([&] { return AllLed(cluster, 300); }, minutes(6))) << victim;
    cluster.Start(victim);
    cluster.RunUntil([&] { return cluster.LedBy(victim) >= 60; }, seconds(20));
    for (std::uint32_t s = 0; s < 300; ++s) {
      most = std::max(most, cluster.store().Record(ShardId{s}).tally.deaths);
    }
  }
  EXPECT_LE(most, 6u);
  EXPECT_EQ(cluster.violations(), kNone);
}

// Plan: etcd's troubles end all sessions eight times, half a minute apart; the processes live on.
// These were no deaths. The node that takes over another's shard can't know that, and counts; but
// before the others would have to wait for long, its leader has it back.
TEST(DeathBackoff, ALostSessionOfALivingProcessIsNoDeath) {
  Cluster cluster(DeathOptions(3, 30));
  ASSERT_TRUE(cluster.Up()) << cluster.WhyNotSettled();
  for (int time = 1; time <= 8; ++time) {
    for (const NodeId& node : cluster.names()) cluster.RevokeLeaseOf(node);
    EXPECT_TRUE(cluster.RunUntil([&] { return AllLed(cluster, 30); }, seconds(10))) << time;
    cluster.Run(seconds(20));
  }
  std::uint32_t most = 0;
  for (std::uint32_t s = 0; s < 30; ++s) {
    most = std::max(most, cluster.store().Record(ShardId{s}).tally.deaths);
  }
  EXPECT_LE(most, 2u);
}

// Plan: a shard waits for minutes after many deaths, while another node joins, one drains and one
// dies: balance, drain and failover go on as if it was not there.
TEST(DeathBackoff, AShardThatWaitsHoldsNothingUp) {
  Cluster cluster(DeathOptions(5, 60));
  for (const NodeId node : {"n1", "n2", "n3", "n4"}) cluster.Start(node);
  cluster.Run(seconds(70));
  const NodeId leader = cluster.LeaderOf(kShard);
  ShardRecordFact often{.shard = kShard, .record = cluster.store().Record(kShard)};
  often.record.session = SessionId{4711};  // of a process that nobody saw
  often.record.leader = "x";
  often.record.tally = {.deaths = 20, .begun = cluster.WallClockOf("n1")};
  cluster.store().Put(often);
  cluster.HoldWatch(leader, false);
  cluster.Run(seconds(5));
  EXPECT_EQ(cluster.LeaderOf(kShard), "");
  cluster.Start("n5");
  EXPECT_TRUE(cluster.RunUntil([&] { return cluster.LedBy("n5") >= 11; }, seconds(20)));
  cluster.Policy("n1", PolicyNamed("drain/n2"));
  EXPECT_TRUE(cluster.RunUntil([&] { return cluster.LedBy("n2") == 0; }, seconds(10)));
  cluster.Kill("n3");
  EXPECT_TRUE(cluster.RunUntil(
      [&] { return cluster.LedBy("n1") + cluster.LedBy("n4") + cluster.LedBy("n5") == 59; },
      seconds(15)));
  EXPECT_EQ(cluster.LeaderOf(kShard), "");
  EXPECT_TRUE(cluster.RunUntil([&] { return AllLed(cluster, 60); }, minutes(5)));
  EXPECT_EQ(cluster.store().Record(kShard).tally.deaths, 21u);
}

}  // namespace
}  // namespace baton::test
