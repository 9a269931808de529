// Members that come and go again and again: what they cost themselves, and that they cost nobody
// else anything.
#include <gtest/gtest.h>

#include "core/cluster.h"

namespace baton::test {
namespace {

// A member that is no real node: its key comes and goes.
class Flapper {
 public:
  Flapper(Cluster& cluster, NodeId node) : cluster_(cluster), node_(std::move(node)) {}
  void Come(MemberState state = MemberState::kActive) {
    MemberFact member;
    member.node = node_;
    member.session = session_ = SessionId{++last_session_};
    member.ttl = seconds(10);
    member.state = state;
    cluster_.store().Put(member, member.session);
    Tell();
  }
  void Go() {
    cluster_.store().Delete("members/" + node_);
    Tell();
  }
  // A sidecar's application that crashes each 0.5 s.
  void Flap(Duration length) {
    for (Duration done{}; done < length; done += milliseconds(500)) {
      Come();
      cluster_.Run(milliseconds(250));
      Go();
      cluster_.Run(milliseconds(250));
    }
  }

 private:
  void Tell() { cluster_.HoldWatch("n1", false); }  // the watches hear of it
  Cluster& cluster_;
  NodeId node_;
  SessionId session_{};
  static inline std::int64_t last_session_ = 5000;
};

ClusterOptions FlappingOptions(int nodes, std::uint32_t shards) {
  ClusterOptions options;
  options.nodes = nodes;
  options.shards = shards;
  options.expiry_late_most = Duration{0};
  options.tune = [](core::CoreOptions& tuned) { tuned.rebalance_delay = seconds(3); };
  return options;
}

std::size_t LedByAll(const Cluster& cluster) {
  std::size_t led = 0;
  for (const NodeId& node : cluster.names()) led += cluster.LedBy(node);
  return led;
}

// Plan: another member comes and goes each half second. n4 dies: its shards are led elsewhere as
// soon as its lease has ended, although five members vanished within the settle time, each the
// same.
TEST(Flapping, AMemberDoesNotHoldUpFailover) {
  Cluster cluster(FlappingOptions(4, 16));
  ASSERT_TRUE(cluster.Up()) << cluster.WhyNotSettled();
  Flapper flapper(cluster, "x");
  flapper.Flap(seconds(10));
  cluster.Kill("n4");
  flapper.Flap(seconds(11));
  EXPECT_EQ(LedByAll(cluster), 16u);
  EXPECT_EQ(cluster.violations(), kNone);
}

// Plan: three members come and go each half second. Together they are more than the brake allows,
// but none of them leads anything.
TEST(Flapping, SeveralMembersDoNotHoldUpFailoverEither) {
  Cluster cluster(FlappingOptions(6, 16));
  ASSERT_TRUE(cluster.Up()) << cluster.WhyNotSettled();
  std::vector<Flapper> flappers{{cluster, "x"}, {cluster, "y"}, {cluster, "z"}};
  const auto flap = [&](int times) {
    for (int i = 0; i < times; ++i) {
      for (Flapper& flapper : flappers) flapper.Come();
      cluster.Run(milliseconds(250));
      for (Flapper& flapper : flappers) flapper.Go();
      cluster.Run(milliseconds(250));
    }
  };
  flap(20);
  cluster.Kill("n4");
  flap(24);
  EXPECT_EQ(LedByAll(cluster), 16u);
  EXPECT_EQ(cluster.violations(), kNone);
}

// Plan: three members came and went ten times. They go once more as n4 dies, and stay away. The
// brake would wait for half a minute if it counted them; n4's shards are led elsewhere at once.
TEST(Flapping, MembersThatCameAndWentAreNotCounted) {
  ClusterOptions options = FlappingOptions(6, 16);
  options.tune = [](core::CoreOptions& tuned) {
    tuned.settle = seconds(30);
    tuned.expect_nodes = 6;
    tuned.rebalance_delay = seconds(60);
  };
  Cluster cluster(std::move(options));
  ASSERT_TRUE(cluster.Up()) << cluster.WhyNotSettled();
  std::vector<Flapper> flappers{{cluster, "x"}, {cluster, "y"}, {cluster, "z"}};
  for (int i = 0; i < 10; ++i) {
    for (Flapper& flapper : flappers) flapper.Come();
    cluster.Run(milliseconds(250));
    for (Flapper& flapper : flappers) flapper.Go();
    if (i < 9) cluster.Run(milliseconds(250));
  }
  ASSERT_GT(cluster.LedBy("n4"), 0u);
  cluster.Kill("n4");
  cluster.RevokeLeaseOf("n4");
  EXPECT_TRUE(cluster.RunUntil([&] { return LedByAll(cluster) == 16; }, seconds(2)));
  EXPECT_EQ(cluster.violations(), kNone);
}

// Plan: n4 joins while another member comes and goes. It gets its part within the delay of balance.
TEST(Flapping, AMemberDoesNotHoldUpBalance) {
  Cluster cluster(FlappingOptions(4, 16));
  for (const NodeId node : {"n1", "n2", "n3"}) cluster.Start(node);
  cluster.Run(seconds(5));
  Flapper flapper(cluster, "x");
  flapper.Flap(seconds(5));
  cluster.Start("n4");
  flapper.Flap(seconds(8));
  EXPECT_EQ(cluster.LedBy("n4"), 4u);
  EXPECT_EQ(cluster.violations(), kNone);
}

// Plan: a whole group starts while a member comes and goes: the wait for a quiet membership ends.
TEST(Flapping, AMemberDoesNotHoldUpAColdStart) {
  Cluster cluster(FlappingOptions(2, 8));
  Flapper flapper(cluster, "x");
  cluster.StartAll();
  flapper.Flap(seconds(8));
  EXPECT_EQ(LedByAll(cluster), 8u);
}

// Plan: a member came and went six times. When it comes again, nothing is moved or given to it for
// a while; then it gets its part.
TEST(Flapping, AMemberGetsNothingUntilItHasStayedForAWhile) {
  Cluster cluster(FlappingOptions(4, 16));
  for (const NodeId node : {"n1", "n2", "n3"}) cluster.Start(node);
  cluster.Run(seconds(5));
  for (int i = 0; i < 6; ++i) {
    cluster.Start("n4");
    cluster.Run(seconds(1));
    cluster.Kill("n4");
    cluster.store().Revoke(cluster.store().Member("n4").lease);
    cluster.HoldWatch("n1", false);
    cluster.Run(milliseconds(100));
  }
  cluster.Start("n4");
  cluster.Run(seconds(20));
  EXPECT_EQ(cluster.LedBy("n4"), 0u);
  EXPECT_EQ(cluster.store().MoveCount(), 0u);
  EXPECT_TRUE(cluster.RunUntil([&] { return cluster.LedBy("n4") == 4; }, seconds(40)));
  EXPECT_EQ(cluster.violations(), kNone);
}

// Plan: all sessions are lost four times, one soon after the other, as after troubles of etcd. All
// members came and went, so none is worse than the others, and all shards are led again.
TEST(Flapping, AGroupThatCameAndWentAsAWholeLeads) {
  Cluster cluster(FlappingOptions(4, 16));
  ASSERT_TRUE(cluster.Up()) << cluster.WhyNotSettled();
  for (int i = 0; i < 4; ++i) {
    for (const NodeId& node : cluster.names()) cluster.RevokeLeaseOf(node);
    cluster.Run(seconds(4));
  }
  EXPECT_EQ(LedByAll(cluster), 16u);
  for (const NodeId& node : cluster.names()) EXPECT_EQ(cluster.LedBy(node), 4u);
}

// Plan: as before, and then a node joins for the first time. It is the only steady one, and gets no
// more than its part all the same.
TEST(Flapping, ANewcomerDoesNotGetEverything) {
  Cluster cluster(FlappingOptions(5, 20));
  for (const NodeId node : {"n1", "n2", "n3", "n4"}) cluster.Start(node);
  cluster.Run(seconds(5));
  for (int i = 0; i < 4; ++i) {
    if (i == 3) cluster.Start("n5");
    cluster.Run(milliseconds(500));
    for (const NodeId node : {"n1", "n2", "n3", "n4"}) cluster.RevokeLeaseOf(node);
    cluster.Run(seconds(4));
  }
  EXPECT_EQ(LedByAll(cluster), 20u);
  EXPECT_LE(cluster.LedBy("n5"), 8u);
}

// Plan: of ten members four drain and leave at once, in order, and a fifth dies. Only that one is
// counted, so its shards are led elsewhere at once.
TEST(Flapping, MembersThatLeaveInOrderAreNotCounted) {
  ClusterOptions options = FlappingOptions(10, 20);
  options.tune = [](core::CoreOptions& tuned) {
    tuned.settle = seconds(30);
    tuned.expect_nodes = 10;
    tuned.rebalance_delay = seconds(60);
  };
  Cluster cluster(std::move(options));
  ASSERT_TRUE(cluster.Up()) << cluster.WhyNotSettled();
  for (const NodeId node : {"n6", "n7", "n8", "n9"}) cluster.Drain(node);
  cluster.Run(seconds(3));
  cluster.Kill("n1");
  cluster.RevokeLeaseOf("n1");
  EXPECT_TRUE(cluster.RunUntil([&] { return LedByAll(cluster) == 20; }, seconds(2)));
  EXPECT_EQ(cluster.violations(), kNone);
}

}  // namespace
}  // namespace baton::test
