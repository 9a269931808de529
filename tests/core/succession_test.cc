// Succession in a small cluster: who fills a vacancy, when, and what holds it back.
#include "core/succession.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "core/cluster.h"

namespace baton::test {
namespace {

ClusterOptions Sized(int nodes, std::uint32_t shards) {
  ClusterOptions options;
  options.nodes = nodes;
  options.shards = shards;
  return options;
}

// Plan: the first node comes 1.9 s before the second. Nobody claims before both have been there for
// the settle time, and then each claims its half, once.
TEST(Succession, AColdStartWaitsForTheMembershipToSettle) {
  Cluster cluster(Sized(2, 6));
  cluster.Start("n1");
  cluster.Run(milliseconds(1900));
  cluster.Start("n2");
  cluster.Run(milliseconds(1500));
  EXPECT_EQ(cluster.LedBy("n1") + cluster.LedBy("n2"), 0u);
  cluster.Run(seconds(1));
  EXPECT_EQ(cluster.LedBy("n1"), 3u);
  EXPECT_EQ(cluster.LedBy("n2"), 3u);
  EXPECT_TRUE(cluster.TransitionsOf(Reason::kRebalance).empty());
}

// Plan: three are expected; the arrival of the third ends the wait at once.
TEST(Succession, TheExpectedNumberEndsTheWait) {
  ClusterOptions options = Sized(3, 6);
  options.tune = [](core::CoreOptions& tuned) { tuned.expect_nodes = 3; };
  Cluster cluster(std::move(options));
  cluster.StartAll();
  cluster.Run(milliseconds(200));
  for (const NodeId& node : cluster.names()) EXPECT_EQ(cluster.LedBy(node), 2u);
}

// Plan: kill one of three. Its four shards go to the others, two each, within TTL + 0.5 s +
// delivery.
TEST(Succession, ADeadNodesShardsAreSharedInTime) {
  Cluster cluster({});
  ASSERT_TRUE(cluster.Up());
  cluster.Kill("n2");
  EXPECT_TRUE(cluster.RunUntil([&] { return cluster.LedBy("n1") == 6 && cluster.LedBy("n3") == 6; },
                               milliseconds(10600)));
  cluster.Run(milliseconds(100));  // what is reported is activated
  EXPECT_EQ(cluster.TransitionsOf(Reason::kLeaseExpired).size(), 4u);
  EXPECT_EQ(cluster.violations(), kNone);
}

// Plan: a node is killed and restarted with its state directory: it has its own shards again within
// the second, and nobody else's terms change.
TEST(Succession, ARestartWithProofOfDeathTakesItsOwnShardsBack) {
  Cluster cluster({});
  ASSERT_TRUE(cluster.Up());
  const std::vector<ShardId> own = cluster.ShardsOf("n2");
  const Term untouched = cluster.TermOf(cluster.ShardsOf("n1").front());
  cluster.Start("n2", true);
  EXPECT_TRUE(cluster.RunUntil([&] { return cluster.Settled(); }, seconds(1)))
      << cluster.WhyNotSettled();
  EXPECT_EQ(cluster.ShardsOf("n2"), own);
  EXPECT_EQ(cluster.TermOf(cluster.ShardsOf("n1").front()), untouched);
  EXPECT_EQ(cluster.TransitionsOf(Reason::kProcessDied).size(), own.size());
  EXPECT_EQ(cluster.violations(), kNone);
}

// Plan: the same without a proof: the node waits for the lease to expire; meanwhile the others take
// over.
TEST(Succession, ARestartWithoutProofWaitsTheLeaseOut) {
  Cluster cluster({});
  ASSERT_TRUE(cluster.Up());
  cluster.Start("n2", false);
  cluster.Run(seconds(5));
  EXPECT_EQ(cluster.LedBy("n2"), 0u);
  EXPECT_TRUE(cluster.RunUntil([&] { return cluster.Settled(); }, seconds(40)))
      << cluster.WhyNotSettled();
  EXPECT_EQ(cluster.violations(), kNone);
}

// Plan: ten members, four vanish at once: nobody claims for the settle time; then all shards are
// shared.
TEST(Succession, ManyVanishingAtOncePullsTheBrake) {
  ClusterOptions options = Sized(10, 20);
  options.expiry_late_most = Duration{0};
  options.tune = [](core::CoreOptions& tuned) {
    tuned.settle = seconds(4);
    tuned.rebalance_delay = seconds(60);
  };
  Cluster cluster(std::move(options));
  ASSERT_TRUE(cluster.Up()) << cluster.WhyNotSettled();
  for (const NodeId node : {"n6", "n7", "n8", "n9"}) {
    cluster.Kill(node);
    cluster.store().Revoke(cluster.store().Member(node).lease);
  }
  cluster.HoldWatch("n1", false);  // the watches hear of it
  cluster.Run(milliseconds(3500));
  std::size_t led = 0;
  for (const NodeId& node : cluster.names()) led += cluster.LedBy(node);
  EXPECT_EQ(led, 12u);
  EXPECT_TRUE(cluster.RunUntil([&] { return cluster.Settled(); }, seconds(2)))
      << cluster.WhyNotSettled();
  EXPECT_EQ(cluster.violations(), kNone);
}

std::ptrdiff_t PassedOver(const Cluster& cluster) {
  const auto& transitions = cluster.transitions();
  return std::count_if(transitions.begin(), transitions.end(), [](const auto& seen) {
    return seen.second.cause.kind == CauseKind::kPassedOver;
  });
}

// Plan: twelve members, and three vanish one after another, 5 ms apart. The first two are divided
// before the third pulls the brake. Once it is over, nobody has made progress for seconds, because
// nobody was allowed to. So all claim their own parts, and the pace is so low that this takes time.
TEST(Succession, NobodyIsPassedOverBecauseOfTheBrake) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ClusterOptions options = Sized(12, 120);
    options.seed = seed;
    options.expiry_late_most = Duration{0};
    options.tune = [](core::CoreOptions& tuned) {
      tuned.settle = seconds(4);
      tuned.rebalance_delay = seconds(60);
      tuned.event_deliveries_per_second = 1000;
    };
    Cluster cluster(std::move(options));
    ASSERT_TRUE(cluster.Up()) << cluster.WhyNotSettled();
    for (const NodeId node : {"n6", "n7", "n8"}) {
      cluster.Kill(node);
      cluster.store().Revoke(cluster.store().Member(node).lease);
      cluster.HoldWatch("n1", false);  // the watches hear of it
      cluster.Run(milliseconds(5));
    }
    EXPECT_TRUE(cluster.RunUntil([&] { return cluster.Settled(); }, seconds(30)))
        << cluster.WhyNotSettled();
    EXPECT_EQ(PassedOver(cluster), 0);
    EXPECT_EQ(cluster.violations(), kNone);
  }
}

// Plan: a node dies, and some nodes have divided its shards, when etcd goes away for longer than
// the leases last. Its new leader lets them go on. Nobody could claim anything meanwhile, so nobody
// is passed over.
TEST(Succession, NobodyIsPassedOverBecauseOfASuspension) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ClusterOptions options = Sized(12, 120);
    options.seed = seed;
    Cluster cluster(std::move(options));
    ASSERT_TRUE(cluster.Up()) << cluster.WhyNotSettled();
    cluster.Kill("n6");
    cluster.store().Revoke(cluster.store().Member("n6").lease);
    cluster.HoldWatch("n1", false);  // the watches hear of it
    cluster.Run(milliseconds(3));
    cluster.Outage(true);
    cluster.Run(seconds(20));
    ASSERT_FALSE(cluster.TransitionsOf(Reason::kSuspended).empty());
    cluster.Outage(false);
    cluster.Run(seconds(1));  // later it may be that some are not back yet
    EXPECT_EQ(PassedOver(cluster), 0);
    EXPECT_TRUE(cluster.RunUntil([&] { return cluster.Settled(); }, seconds(30)))
        << cluster.WhyNotSettled();
    EXPECT_EQ(cluster.violations(), kNone);
  }
}

// n1 dies, and n2 can't write.
void ExpectN3TakesTheWholeOfN1(Cluster& cluster) {
  cluster.HoldWrites("n2");
  cluster.Kill("n1");
  EXPECT_TRUE(cluster.RunUntil([&] { return cluster.LedBy("n3") == 8; }, seconds(20)));
  cluster.LetWrites("n2");
  cluster.Run(seconds(2));
  EXPECT_EQ(cluster.violations(), kNone);
}

// Plan: n1 dies; n2 can't write. The next in line takes n2's part, once.
TEST(Succession, AStalledSuccessorIsPassedOver) {
  Cluster cluster({});
  ASSERT_TRUE(cluster.Up());
  ExpectN3TakesTheWholeOfN1(cluster);
}

// Plan: the same, but n2 leads a shard for which moves are planned and withdrawn all the time. That
// is no progress with what it has to claim.
TEST(Succession, MovesAreNoProgressOfAStalledSuccessor) {
  Cluster cluster({});
  ASSERT_TRUE(cluster.Up());
  MoveFact move{.shard = cluster.ShardsOf("n2").front(), .present = true};
  move.from = "n2";
  move.to = "n3";
  move.void_reason = "the test wants it";
  cluster.HoldWrites("n2");
  cluster.Kill("n1");
  const auto taken = [&] { return cluster.LedBy("n3") == 8; };
  for (int i = 0; i < 100 && !taken(); ++i) {
    cluster.store().Put(move);
    cluster.HoldWatch("n3", false);  // the watches hear of it
    cluster.Run(milliseconds(200));
  }
  EXPECT_TRUE(taken());
  cluster.LetWrites("n2");
  cluster.Run(seconds(2));
  EXPECT_EQ(cluster.violations(), kNone);
}

// Plan: n1 dies, and n2 can't write. etcd refuses the claims of the next in line for a moment. It
// tries again at once; the assignment, which still gives the shards to n2, does not make it wait
// again.
TEST(Succession, ATakeoverThatIsRefusedIsTriedAgainAtOnce) {
  Cluster cluster({});
  ASSERT_TRUE(cluster.Up());
  cluster.HoldWrites("n2");
  cluster.Kill("n1");
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.LedBy("n3") == 6; }, seconds(12)));
  bool denied = false;
  cluster.DenyWrites("n3", [&](const Write& write) {
    const auto* batch = std::get_if<ClaimBatch>(&write);
    const bool of_shards = batch != nullptr && batch->claims.front().shard.has_value();
    denied = denied || of_shards;
    return of_shards;
  });
  ASSERT_TRUE(cluster.RunUntil([&] { return denied; }, seconds(10)));
  cluster.Run(milliseconds(20));
  cluster.DenyWrites("n3", nullptr);
  EXPECT_TRUE(cluster.RunUntil([&] { return cluster.LedBy("n3") == 8; }, milliseconds(200)));
  cluster.LetWrites("n2");
  cluster.Run(seconds(2));
  EXPECT_EQ(cluster.violations(), kNone);
}

// Plan: every node is drained, so they take vacancies all the same. One dies, and one of the others
// stands still: the third takes over for it.
TEST(Succession, AmongDrainedNodesAnotherTakesOverToo) {
  Cluster cluster({});
  ASSERT_TRUE(cluster.Up());
  for (const NodeId& node : cluster.names()) {
    PolicyFact drain;
    drain.name = {PolicyKind::kDrain, node};
    drain.present = true;
    cluster.store().Put(drain);
  }
  cluster.HoldWatch("n1", false);  // the watches hear of all three at once
  cluster.Run(seconds(1));
  ASSERT_EQ(cluster.LedBy("n3"), 4u);
  ExpectN3TakesTheWholeOfN1(cluster);
}

// Plan: one shard waits for minutes after deaths, so there is a vacancy to divide. Another is
// handed over, which changes nothing for vacancies: nobody divides.
TEST(Succession, AHandoffIsNoReasonToAssignAgain) {
  Cluster cluster({});
  ASSERT_TRUE(cluster.Up());
  ShardRecordFact often{.shard = ShardId{0}, .record = cluster.store().Record(ShardId{0})};
  often.record.session = SessionId{4711};
  often.record.leader = "x";
  often.record.tally = {.deaths = 20, .begun = cluster.WallClockOf("n1")};
  cluster.store().Put(often);
  cluster.HoldWatch("n1", false);  // the watches hear of it
  cluster.Run(seconds(5));
  ASSERT_EQ(cluster.LeaderOf(ShardId{0}), "");
  const auto assignments = [&](const NodeId& node) {
    return cluster.core(node).succession().counters().assignments;
  };
  const auto before = assignments("n3");
  const ShardId shard = cluster.ShardsOf("n1").back();
  cluster.Transfer("n1", {.shard = shard, .to = "n2", .if_term = {}, .actor = {}});
  cluster.Run(seconds(1));
  ASSERT_EQ(cluster.LeaderOf(shard), "n2");
  EXPECT_EQ(assignments("n3"), before);
}

// Plan: each node gets its answers late, so assignments are carried out in parts and computed again
// between them. Every shard is claimed exactly once all the same.
TEST(Succession, PartsOfADivisionFitTogether) {
  for (std::uint64_t seed = 1; seed <= 50 / BATON_FEWER_SEEDS; ++seed) {
    ClusterOptions options = Sized(5, 60);
    options.seed = seed;
    options.latency_most = milliseconds(150);  // no successor is slow enough to be passed over
    options.watch_delay_most = milliseconds(300);
    Cluster cluster(std::move(options));
    ASSERT_TRUE(cluster.Up());
    const std::size_t before = cluster.transitions().size();
    const std::size_t orphans = cluster.LedBy("n1") + cluster.LedBy("n2");
    for (const NodeId node : {"n1", "n2"}) {
      cluster.Kill(node);
      cluster.store().Revoke(cluster.store().Member(node).lease);
    }
    cluster.HoldWatch("n1", false);  // the watches hear of it
    ASSERT_TRUE(cluster.RunUntil([&] { return cluster.Settled(); }, seconds(30)))
        << cluster.WhyNotSettled();
    EXPECT_EQ(cluster.transitions().size() - before, orphans) << "seed " << seed;
    EXPECT_TRUE(cluster.TransitionsOf(Reason::kRebalance).empty()) << "seed " << seed;
    EXPECT_EQ(cluster.violations(), kNone);
  }
}

// ---- damaged records ---------------------------------------------------------------------------

// Plan: the record of a led shard is overwritten with garbage. Its leader stops, keeps the bytes,
// and leads again with a new term; nobody else takes it.
TEST(Succession, TheLastLeaderReplacesADamagedRecordOnceItHasStopped) {
  Cluster cluster({});
  ASSERT_TRUE(cluster.Up());
  const ShardId shard = cluster.ShardsOf("n2").front();
  const Term before = cluster.TermOf(shard);
  cluster.Behave("n2", core::CallbackKind::kLost, Behaviour::kHangs);
  cluster.DamageRecord(shard);
  cluster.Run(seconds(4));
  EXPECT_EQ(cluster.LeaderOf(shard), "") << "its application has not stopped yet";
  EXPECT_EQ(cluster.store().Record(shard).readability, Readability::kDamaged);
  const core::OperationId lost = cluster.Asked<core::RunCallback>("n2").back().second.operation;
  cluster.Behave("n2", core::CallbackKind::kLost, Behaviour::kReturns);
  cluster.Deliver("n2", core::CallbackReturned{lost, shard, true});
  cluster.Run(seconds(1));
  EXPECT_EQ(cluster.LeaderOf(shard), "n2");
  EXPECT_GT(cluster.TermOf(shard), before);
  // The hung `lost` holds the shard's callbacks up; a gain is reported once `acquired` returns.
  const core::RunCallback acquired = cluster.Asked<core::RunCallback>("n2").back().second;
  ASSERT_EQ(acquired.kind, core::CallbackKind::kAcquired);
  cluster.Deliver("n2", core::CallbackReturned{acquired.operation, shard, true});
  const std::vector<Transition> told = cluster.TransitionsOf(Reason::kOperator);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told.front().from + " -> " + told.front().to + " by " + told.front().actor,
            "n2 -> n2 by baton (damaged record replaced)");
  ASSERT_EQ(cluster.store().quarantined().size(), 1u);
  EXPECT_NE(cluster.store().quarantined().front().find("garbage"), std::string::npos);
}

// Plan: the leader is paused when its record is damaged: others wait until its session is dead.
TEST(Succession, OthersReplaceADamagedRecordOnceItsLeaderIsDead) {
  Cluster cluster({});
  ASSERT_TRUE(cluster.Up());
  const ShardId shard = cluster.ShardsOf("n2").front();
  cluster.Pause("n2");
  cluster.DamageRecord(shard);
  cluster.Run(seconds(5));
  EXPECT_EQ(cluster.store().Record(shard).readability, Readability::kDamaged);
  EXPECT_TRUE(cluster.RunUntil(
      [&] {
        return !cluster.LeaderOf(shard).empty() && cluster.LeaderOf(shard) != "n2" &&
               cluster.store().InForce(shard);
      },
      seconds(12)));
}

// Plan: nodes that come later find garbage and don't know whose it was: they wait for the greatest
// TTL and the settle time.
TEST(Succession, ADamagedRecordOfAnUnknownLeaderIsWaitedOut) {
  Cluster cluster(Sized(2, 3));
  cluster.DamageRecord(ShardId{1});
  cluster.StartAll();
  cluster.Run(seconds(11));
  EXPECT_EQ(cluster.store().Record(ShardId{1}).readability, Readability::kDamaged);
  EXPECT_TRUE(cluster.RunUntil([&] { return cluster.Settled(); }, seconds(6)))
      << cluster.WhyNotSettled();
}

// Plan: a record of a newer schema is never touched.
TEST(Succession, ARecordOfANewerSchemaIsLeftAlone) {
  Cluster cluster(Sized(2, 3));
  cluster.DamageRecord(ShardId{1}, Readability::kNewerSchema);
  const Revision revision = cluster.store().Record(ShardId{1}).revision;
  cluster.StartAll();
  cluster.Run(seconds(60));
  EXPECT_EQ(cluster.store().Record(ShardId{1}).revision, revision);
  EXPECT_EQ(cluster.LedBy("n1") + cluster.LedBy("n2"), 2u);
}

}  // namespace
}  // namespace baton::test
