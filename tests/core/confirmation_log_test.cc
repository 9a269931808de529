// How long ago a member may have died: what a node's own confirmations say about others' leases.
#include "core/confirmation_log.h"

#include <gtest/gtest.h>

#include "core/cluster.h"

namespace baton::test {
namespace {

using core::ConfirmationLog;
using core::kExpiryLateness;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kTtl = seconds(9);
constexpr TimePoint kBegin{std::chrono::hours(1)};

/// One confirmation every 3 s, from `kBegin` on, each in a revision ten higher, from 100 on.
ConfirmationLog Steady(int count, std::uint64_t raft_term = 4) {
  ConfirmationLog log;
  for (int i = 0; i < count; ++i)
    log.Add(kBegin + i * seconds(3), kBegin + i * seconds(3), Revision{100 + 10 * i}, raft_term);
  return log;
}

// Plan: the key is deleted in revision 195, between the confirmations of 27 s (190) and 30 s (200);
// this node hears of it at 31 s. At 27 s the lease was alive, so it was renewed at 17.5 s or later.
TEST(ConfirmationLog, TheLastConfirmationBeforeTheEndBoundsTheDeath) {
  EXPECT_EQ(Steady(12).DeadAtMost(kBegin + seconds(31), Revision{195}, kTtl),
            seconds(31) - (seconds(27) - kTtl - kExpiryLateness));
}

// Plan: the confirmations cover less than a lease: etcd may have elected a leader before them.
TEST(ConfirmationLog, SaysNothingWhereItKnowsTooLittle) {
  EXPECT_FALSE(ConfirmationLog().DeadAtMost(kBegin, Revision{100}, kTtl));
  EXPECT_FALSE(Steady(3).DeadAtMost(kBegin + seconds(9), Revision{500}, kTtl));
  EXPECT_FALSE(Steady(12).DeadAtMost(kBegin + seconds(31), Revision{50}, kTtl));
}

// Plan: the same, but etcd's term changed after the confirmation of 24 s. Its new leader gave the
// lease its full TTL again, so only that confirmation shows that renewals kept the lease alive.
TEST(ConfirmationLog, AnElectionInEtcdMakesTheBoundGreater) {
  ConfirmationLog log = Steady(9);
  log.Add(kBegin + seconds(27), kBegin + seconds(27), Revision{190}, 5);
  log.Add(kBegin + seconds(30), kBegin + seconds(30), Revision{200}, 5);
  EXPECT_EQ(log.DeadAtMost(kBegin + seconds(31), Revision{195}, kTtl),
            seconds(31) - (seconds(24) - kTtl - kExpiryLateness));
}

// Plan: the confirmation of 15 s was sent in the term before, but committed and was answered in the
// new one, after 3 s. It does not prove that the new term had begun when it was sent.
TEST(ConfirmationLog, ASlowCommitDoesNotHideAnElection) {
  ConfirmationLog log = Steady(5);
  log.Add(kBegin + seconds(15), kBegin + seconds(18), Revision{150}, 5);
  for (int i = 6; i <= 9; ++i)
    log.Add(kBegin + i * seconds(3), kBegin + i * seconds(3), Revision{100 + 10 * i}, 5);
  EXPECT_EQ(log.DeadAtMost(kBegin + seconds(31), Revision{195}, kTtl),
            seconds(31) - (seconds(12) - kTtl - kExpiryLateness));
}

// Plan: two elections within one lease: the confirmations of the first term decide.
TEST(ConfirmationLog, TwoElectionsMakeItGreaterStill) {
  ConfirmationLog log = Steady(7);
  log.Add(kBegin + seconds(21), kBegin + seconds(21), Revision{170}, 5);
  log.Add(kBegin + seconds(24), kBegin + seconds(24), Revision{180}, 5);
  log.Add(kBegin + seconds(27), kBegin + seconds(27), Revision{190}, 6);
  EXPECT_EQ(log.DeadAtMost(kBegin + seconds(31), Revision{195}, kTtl),
            seconds(31) - (seconds(18) - kTtl - kExpiryLateness));
}

// Plan: the log is limited; after ten thousand confirmations the bound is the same.
TEST(ConfirmationLog, KeepsTheNewest) {
  EXPECT_EQ(Steady(10'000).DeadAtMost(kBegin + 9'999 * seconds(3), Revision{1'000'000}, kTtl),
            kTtl + kExpiryLateness);
}

class DetectionTest : public ::testing::Test {
 protected:
  static ClusterOptions Options() {
    ClusterOptions options;
    options.nodes = 2;
    options.shards = 4;
    return options;
  }
  Cluster cluster_{Options()};
};

// Plan: three nodes; n3 dies. Each survivor tells the other's gains with a bound of its own, which
// holds: the time from the death to the view that showed it.
TEST(Detection, IsBoundedByThoseWhoOnlySawTheDeath) {
  Cluster cluster({});
  ASSERT_TRUE(cluster.Up()) << cluster.WhyNotSettled();
  cluster.Run(seconds(60));
  const TimePoint died = cluster.now();
  cluster.Kill("n3");
  int seen = 0;
  cluster.on_action = [&](const NodeId& node, const core::Action& action) {
    const auto* see = std::get_if<core::SeeTransition>(&action);
    if (see == nullptr) return;
    ++seen;
    ASSERT_TRUE(see->transition->detect_at_most) << node;
    const Duration since = cluster.now() - died - see->transition->elect;
    EXPECT_GE(*see->transition->detect_at_most, since);
    EXPECT_LE(*see->transition->detect_at_most,
              since + cluster.core(node).options().ttl + seconds(1));
  };
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.Settled(); }, seconds(60)));
  cluster.Run(seconds(1));
  EXPECT_EQ(seen, 4) << "each of its 4 shards by the survivor that did not gain it";
}

// Plan: n2 dies after the group has renewed for a minute; n1 takes over. Each gap is reported with
// a bound. The death, whose time only the test knows, keeps within it; and the bound is useful: at
// most a lease and the time between two renewals too long. Transitions without a death have no
// bound.
TEST_F(DetectionTest, ADeathIsToldWithABoundThatHolds) {
  ASSERT_TRUE(cluster_.Up()) << cluster_.WhyNotSettled();
  cluster_.Run(seconds(60));
  const TimePoint died = cluster_.now();
  cluster_.Kill("n2");
  int deaths = 0;
  cluster_.on_action = [&](const NodeId&, const core::Action& action) {
    const auto* report = std::get_if<core::ReportTransition>(&action);
    if (report == nullptr) return;
    const Transition& transition = report->transition;
    ASSERT_EQ(transition.reason, Reason::kLeaseExpired);
    ASSERT_TRUE(transition.detect_at_most);
    ++deaths;
    const Duration since = cluster_.now() - died - transition.elect - transition.activate;
    const Duration ttl = cluster_.core("n1").options().ttl;
    EXPECT_GE(*transition.detect_at_most, since);
    EXPECT_LE(*transition.detect_at_most, since + ttl + seconds(1));
  };
  ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.LedBy("n1") == 4; }, seconds(60)));
  cluster_.Run(seconds(1));
  EXPECT_EQ(deaths, 2);
  for (const auto& [node, transition] : cluster_.transitions()) {
    if (transition.reason == Reason::kLeaseExpired) continue;
    EXPECT_FALSE(transition.detect_at_most) << ToString(transition.reason);
  }
}

class ProvenDetectionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(cluster_.Up()) << cluster_.WhyNotSettled();
    cluster_.Run(seconds(60));  // enough confirmations for a bound
    cluster_.on_action = [this](const NodeId&, const core::Action& action) {
      if (const auto* gained = std::get_if<core::ReportTransition>(&action)) {
        told_.push_back(gained->transition);
      } else if (const auto* seen = std::get_if<core::SeeTransition>(&action)) {
        told_.push_back(*seen->transition);
      }
    };
  }
  /// n3 dies, and its guard ends its session.
  void EndByGuard(std::optional<Duration> detect) {
    const SessionRef dead{"n3", cluster_.store().Member("n3").session};
    cluster_.Kill("n3");
    cluster_.store().Execute(SessionEnd{.dead = dead, .detect = detect});
    AwaitTold(2);
  }
  /// So many nodes tell of each of n3's shards.
  void AwaitTold(std::size_t nodes) {
    EXPECT_TRUE(cluster_.RunUntil([&] { return told_.size() == 4 * nodes; }, seconds(30)))
        << told_.size();
    for (const Transition& transition : told_) {
      EXPECT_EQ(transition.reason, Reason::kProcessDied);
      EXPECT_FALSE(transition.detect_at_most) << "no lease had to run out";
    }
  }
  Cluster cluster_{{}};
  std::vector<Transition> told_;
};

// Plan: n3 dies, and its guard, which waited for that, ends its session 30 ms later. The nodes that
// gain its shards and those that see it tell this time, and not the bound of its lease.
TEST_F(ProvenDetectionTest, AGuardMeasuresADeath) {
  EndByGuard(milliseconds(30));
  for (const Transition& transition : told_) EXPECT_EQ(transition.detect, milliseconds(30));
}

// Plan: the same, but the guard does not know how long the process has been dead. Nobody claims to
// know.
TEST_F(ProvenDetectionTest, AGuardThatCameLaterMeasuresNothing) {
  EndByGuard(std::nullopt);
  for (const Transition& transition : told_) EXPECT_FALSE(transition.detect);
}

// Plan: n3's next process proves the death, and takes its own shards back. It does not know how
// long the first one has been dead, and neither do the others.
TEST_F(ProvenDetectionTest, ANextProcessMeasuresNothing) {
  cluster_.Kill("n3");
  cluster_.Run(seconds(3));
  cluster_.Start("n3", true);
  AwaitTold(3);
  for (const Transition& transition : told_) EXPECT_FALSE(transition.detect);
}

}  // namespace
}  // namespace baton::test
