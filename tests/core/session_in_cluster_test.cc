// Sessions of whole nodes: outages, revoked leases, and how a session ends.
#include <gtest/gtest.h>

#include "core/cluster.h"

namespace baton::test {
namespace {

// Plan: etcd is away for longer than the TTL: every node stops in time, and then goes on with the
// same terms.
TEST(SessionInCluster, SuspendsAndResumesWithTheSameTerms) {
  Cluster cluster({});
  ASSERT_TRUE(cluster.Up()) << cluster.WhyNotSettled();
  std::vector<Term> before;
  for (std::uint32_t s = 0; s < 12; ++s) before.push_back(cluster.TermOf(ShardId{s}));
  cluster.Outage(true);
  const core::Core& n1 = cluster.core("n1");
  const TimePoint deadline = n1.session().deadline();
  EXPECT_FALSE(n1.suspended(deadline - Duration(1)));
  EXPECT_TRUE(n1.suspended(deadline)) << "also before the step that notices";
  cluster.Run(seconds(12));
  for (std::uint32_t s = 0; s < 12; ++s) EXPECT_EQ(cluster.LeaderOf(ShardId{s}), "");
  cluster.Outage(false);
  EXPECT_TRUE(cluster.RunUntil([&] { return cluster.Settled(); }, seconds(5)))
      << cluster.WhyNotSettled();
  for (std::uint32_t s = 0; s < 12; ++s) EXPECT_EQ(cluster.TermOf(ShardId{s}), before[s]);
  EXPECT_EQ(cluster.TransitionsOf(Reason::kSuspended).size(), 12u);
  EXPECT_EQ(cluster.violations(), std::vector<std::string>{});
}

// Plan: a deposed etcd leader still answers one node; the real one lets that node's lease expire.
// The node stops before anybody else leads.
TEST(SessionInCluster, AStuckLeadersAnswersKeepNobodyLeading) {
  Cluster cluster({});
  ASSERT_TRUE(cluster.Up());
  cluster.LieToKeepAlives("n1");
  EXPECT_TRUE(cluster.RunUntil([&] { return cluster.LedBy("n2") + cluster.LedBy("n3") == 12; },
                               seconds(15)));
  EXPECT_EQ(cluster.violations(), std::vector<std::string>{});
}

// Plan: an operator revokes a live lease; the node notices, gives all up, and opens a new session.
TEST(SessionInCluster, ARevokedLeaseIsNoticedAndANewSessionBegins) {
  Cluster cluster({});
  ASSERT_TRUE(cluster.Up());
  const SessionId before = cluster.core("n1").session().id();
  cluster.RevokeLeaseOf("n1");
  EXPECT_TRUE(cluster.RunUntil([&] { return cluster.Settled(); }, seconds(40)))
      << cluster.WhyNotSettled();
  EXPECT_NE(cluster.core("n1").session().id(), before);
  EXPECT_EQ(cluster.violations(), std::vector<std::string>{});
}

// Plan: nothing happens for a minute: one keepalive and one confirmation per third of the TTL, no
// more.
TEST(SessionInCluster, AnIdleGroupOnlyRenews) {
  Cluster cluster({});
  ASSERT_TRUE(cluster.Up());
  cluster.Run(seconds(10));
  const std::uint64_t commits = cluster.store().commits();
  const std::size_t before = cluster.Asked<core::SendKeepAlive>("n1").size();
  const std::uint64_t steps = cluster.steps();
  cluster.Run(seconds(60));
  EXPECT_EQ(cluster.store().commits(), commits);
  const std::size_t sent = cluster.Asked<core::SendKeepAlive>("n1").size() - before;
  EXPECT_GE(sent, 17u);
  EXPECT_LE(sent, 19u);
  EXPECT_LT(cluster.steps() - steps, 3u * 18u * 6u);
  EXPECT_TRUE(cluster.Asked<core::ProbeWatch>("n1").empty())
      << "nobody else wrote, so there is nothing to probe";
}

// How often the group's nodes have read everything so far.
std::size_t Audits(const Cluster& cluster) {
  std::size_t audits = 0;
  for (const NodeId& node : cluster.names()) audits += cluster.Asked<core::AuditView>(node).size();
  return audits;
}

// Plan: 20 nodes lose their sessions at one instant, as after an outage longer than the TTL. They
// don't all read the whole group at that instant, too.
TEST(SessionInCluster, NodesThatLoseTheirSessionsTogetherDoNotReadAllTogether) {
  ClusterOptions options;
  options.nodes = 20;
  options.shards = 40;
  Cluster cluster(std::move(options));
  ASSERT_TRUE(cluster.Up()) << cluster.WhyNotSettled();
  cluster.Run(seconds(30));
  const std::size_t before = Audits(cluster);
  for (const NodeId& node : cluster.names()) cluster.RevokeLeaseOf(node);
  cluster.Run(milliseconds(100));
  EXPECT_EQ(Audits(cluster), before);
}

// Plan: a node that was never without a session stops minutes after it last read everything. It has
// no use for the group any more, and so does not read it.
TEST(SessionInCluster, ANodeThatStopsDoesNotReadTheGroup) {
  Cluster cluster({});
  ASSERT_TRUE(cluster.Up());
  cluster.Run(std::chrono::minutes(5));
  std::size_t audits = 0;
  cluster.on_action = [&](const NodeId& node, const core::Action& action) {
    if (node == "n1" && std::holds_alternative<core::AuditView>(action)) ++audits;
  };
  cluster.Deliver("n1", core::StopRequested{});
  cluster.Run(seconds(5));
  EXPECT_EQ(audits, 0u);
}

// Plan: 20 nodes start at one instant, and each reads everything again within kAuditEvery. These
// reads are spread over a quarter of that time: no second has more than four of them.
TEST(SessionInCluster, NodesThatStartTogetherDoNotReadAllTogetherLater) {
  ClusterOptions options;
  options.nodes = 20;
  options.shards = 20;
  options.checks = false;
  Cluster cluster(std::move(options));
  ASSERT_TRUE(cluster.Up()) << cluster.WhyNotSettled();
  const std::size_t before = Audits(cluster);
  std::size_t most = 0;
  std::size_t last = before;
  for (TimePoint end = cluster.now() + core::kAuditEvery; cluster.now() < end;) {
    cluster.Run(seconds(1));
    const std::size_t now = Audits(cluster);
    most = std::max(most, now - std::exchange(last, now));
  }
  EXPECT_GE(last - before, 20u);
  EXPECT_LE(most, 4u);
}

// Plan: etcd denies the draining node its member update. In a second it is sent five times, not as
// fast as answers come; allowed again, it is written.
TEST(SessionInCluster, ADeniedMemberUpdateIsTriedAgainAfterAPause) {
  ClusterOptions options;
  options.latency_most = options.latency_least;
  Cluster cluster(std::move(options));
  ASSERT_TRUE(cluster.Up());
  cluster.DenyWrites("n1", [](const Write& write) { return IsA<MemberUpdate>(write); });
  cluster.Drain("n1");
  cluster.Run(seconds(1));
  EXPECT_EQ(cluster.Sent<MemberUpdate>("n1").size(), 5u);
  EXPECT_EQ(cluster.store().Member("n1").state, MemberState::kActive);
  cluster.DenyWrites("n1", {});
  EXPECT_TRUE(
      cluster.RunUntil([&] { return cluster.store().Member("n1").state == MemberState::kDraining; },
                       milliseconds(250)));
}

// ---- how a session ends ------------------------------------------------------------------------

class SessionsEndTest : public ::testing::Test {
 protected:
  static ClusterOptions Options() {
    ClusterOptions options;
    options.tune = [](core::CoreOptions& tuned) { tuned.drain_timeout = seconds(5); };
    return options;
  }
  void SetUp() override { ASSERT_TRUE(cluster_.Up()) << cluster_.WhyNotSettled(); }
  // From n1's first revocation on, no answer reaches n1.
  void LoseRevocations() {
    cluster_.on_action = [this](const NodeId& node, const core::Action& action) {
      if (node == "n1" && std::holds_alternative<core::RevokeLease>(action)) {
        cluster_.HoldWrites(node);
      }
    };
  }
  // How n1 ended: how often it tried to revoke its lease, and its Finished.
  std::string End() {
    if (!cluster_.RunUntil([&] { return cluster_.finished("n1"); }, seconds(60))) return "never";
    const auto said = cluster_.Asked<core::Finished>("n1");
    return std::to_string(cluster_.Asked<core::RevokeLease>("n1").size()) + " revocations, " +
           std::to_string(said.size()) + " end, " +
           (said.back().second.drained ? "drained, " : "not drained, ") +
           (said.back().second.lease_left ? "lease left" : "lease gone");
  }
  Cluster cluster_{Options()};
};

// Plan: without faults, one revocation is enough, and no lease is left.
TEST_F(SessionsEndTest, ARevokedLeaseIsNotLeft) {
  cluster_.Drain("n1");
  EXPECT_EQ(End(), "1 revocations, 1 end, drained, lease gone");
  EXPECT_FALSE(cluster_.store().Member("n1").present);
}

// Plan: all is handed over, then no revocation arrives: three are tried, and the lease is left.
TEST_F(SessionsEndTest, TheRevocationIsTriedThreeTimes) {
  LoseRevocations();
  cluster_.Drain("n1");
  EXPECT_EQ(End(), "3 revocations, 1 end, drained, lease left");
  EXPECT_TRUE(cluster_.store().Member("n1").present);
}

// Plan: the application doesn't release in time, so the drain is late and n1 resigns the rest. etcd
// answers that, so three revocations are tried all the same.
TEST_F(SessionsEndTest, ALateDrainTriesTheRevocationThreeTimesToo) {
  cluster_.Behave("n1", core::CallbackKind::kReleasing, Behaviour::kHangs);
  LoseRevocations();
  cluster_.Drain("n1");
  EXPECT_EQ(End(), "3 revocations, 1 end, not drained, lease left");
}

// Plan: etcd is away when the drain begins; resigning is given up, and only one revocation is
// tried.
TEST_F(SessionsEndTest, OneTryIsEnoughWhereResigningWasGivenUp) {
  cluster_.Outage(true);
  cluster_.Drain("n1");
  EXPECT_EQ(End(), "1 revocations, 1 end, not drained, lease left");
}

// Plan: the application hangs while it releases for the drain, and an operator revokes the lease.
// The shards were neither handed over nor resigned, so the drain did not succeed.
TEST_F(SessionsEndTest, ADrainThatLosesItsSessionGaveShardsUp) {
  cluster_.Behave("n1", core::CallbackKind::kReleasing, Behaviour::kHangs);
  cluster_.Drain("n1");
  cluster_.Run(seconds(1));
  ASSERT_GT(cluster_.LedBy("n1"), 0u);
  cluster_.RevokeLeaseOf("n1");
  EXPECT_EQ(End(), "1 revocations, 1 end, not drained, lease gone");
  EXPECT_EQ(cluster_.violations(), kNone);
}

}  // namespace
}  // namespace baton::test
