// An application that says that it is not healthy, and one in the node's own process that gives no
// sign of life: what becomes of the shards, and what others see.
#include <gtest/gtest.h>

#include "core/cluster.h"

namespace baton::test {
namespace {

using core::ApplicationChanged;
using core::ApplicationState;
using core::HealthChanged;

class HealthTest : public ::testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(cluster_->violations(), kNone); }
  void Up(int nodes) {
    ClusterOptions options;
    options.nodes = nodes;
    options.shards = 12;
    options.tune = [](core::CoreOptions& tuned) { tuned.rebalance_delay = seconds(1); };
    cluster_ = std::make_unique<Cluster>(options);
    ASSERT_TRUE(cluster_->Up()) << cluster_->WhyNotSettled();
  }
  void Say(const NodeId& node, bool healthy) { cluster_->Deliver(node, HealthChanged{healthy}); }
  void SayAll(bool healthy) {
    for (const NodeId& node : cluster_->names()) Say(node, healthy);
  }
  void Is(const NodeId& node, ApplicationState state) {
    cluster_->Deliver(node, ApplicationChanged{state});
  }
  bool OthersLeadAll(Duration most) {
    return cluster_->RunUntil([&] { return cluster_->LedBy("n2") + cluster_->LedBy("n3") == 12u; },
                              most);
  }
  bool HasItsShare() {
    return cluster_->RunUntil([&] { return cluster_->LedBy("n1") == 4u && cluster_->Settled(); },
                              seconds(60));
  }
  std::size_t Releases(const NodeId& node) {
    std::size_t count = 0;
    for (const auto& [at, callback] : cluster_->Asked<core::RunCallback>(node)) {
      count += callback.kind == core::CallbackKind::kReleasing ? 1 : 0;
    }
    return count;
  }

  /// How often the node has changed its member record.
  std::size_t Updates(const NodeId& node) const {
    return cluster_->Sent<MemberUpdate>(node).size();
  }

  std::unique_ptr<Cluster> cluster_;
};

// Plan: one of three nodes is not healthy. Its shards are handed over, with their callbacks; it
// keeps its session. Then it is healthy again, and gets its share back.
TEST_F(HealthTest, AnUnhealthyNodeGivesItsShardsAwayAndStays) {
  Up(3);
  const SessionId session = cluster_->store().Member("n1").session;
  const std::size_t led = cluster_->LedBy("n1");
  Say("n1", false);
  ASSERT_TRUE(OthersLeadAll(seconds(20)));
  EXPECT_EQ(Releases("n1"), led);
  cluster_->Run(seconds(30));
  EXPECT_EQ(cluster_->LedBy("n1"), 0u);
  EXPECT_EQ(cluster_->TransitionsOf(Reason::kDrain).size(), led);
  EXPECT_EQ(cluster_->TransitionsOf(Reason::kShutdown).size(), 0u);
  EXPECT_EQ(cluster_->store().Member("n1").session, session);
  EXPECT_TRUE(cluster_->store().Member("n1").unhealthy);
  Say("n1", true);
  EXPECT_TRUE(HasItsShare());
  EXPECT_FALSE(cluster_->store().Member("n1").unhealthy);
}

// Plan: all nodes are not healthy, as if their database were down; then one of them dies. The
// shards stay led, and the dead node's are taken over.
TEST_F(HealthTest, IfAllAreUnhealthyTheyLeadOn) {
  Up(3);
  SayAll(false);
  cluster_->Run(seconds(30));
  EXPECT_EQ(cluster_->LedBy("n1") + cluster_->LedBy("n2") + cluster_->LedBy("n3"), 12u);
  cluster_->Kill("n1");
  ASSERT_TRUE(OthersLeadAll(seconds(60)));
}

// Plan: a node is not healthy before its first session. It takes part, and gets nothing.
TEST_F(HealthTest, ANodeMayBeginUnhealthy) {
  ClusterOptions options;
  options.nodes = 2;
  options.shards = 12;
  cluster_ = std::make_unique<Cluster>(options);
  cluster_->Start("n1");
  Say("n1", false);
  cluster_->Start("n2");
  ASSERT_TRUE(cluster_->RunUntil([&] { return cluster_->LedBy("n2") == 12u; }, seconds(60)));
  EXPECT_TRUE(cluster_->store().Member("n1").unhealthy);
  EXPECT_EQ(cluster_->Sent<MemberUpdate>("n1").size(), 0u) << "the first write says so";
}

// Plan: an unhealthy node is told to stop. From then on it leaves in order, as its record says.
TEST_F(HealthTest, AnUnhealthyNodeMayLeaveInOrder) {
  Up(3);
  Say("n1", false);
  ASSERT_TRUE(cluster_->RunUntil([&] { return cluster_->LedBy("n1") == 0; }, seconds(20)));
  EXPECT_FALSE(cluster_->store().Member("n1").Leaves());
  cluster_->Drain("n1");
  ASSERT_TRUE(cluster_->RunUntil([&] { return cluster_->finished("n1"); }, seconds(20)));
  EXPECT_TRUE(cluster_->drained("n1"));
  const core::View& view = cluster_->core("n2").view();
  ASSERT_TRUE(cluster_->RunUntil([&] { return view.LiveMembers() == 2; }, seconds(5)));
  EXPECT_EQ(view.steadiness().GoneSince(TimePoint::min()).size(), 0u);
}

// Plan: three of four unhealthy nodes die at once. They had not said that they leave, so the brake
// counts them.
TEST_F(HealthTest, AnUnhealthyNodeThatDiesHasNotLeftInOrder) {
  Up(6);
  for (const char* node : {"n1", "n2", "n3"}) Say(node, false);
  cluster_->Run(seconds(20));
  for (const char* node : {"n1", "n2", "n3"}) cluster_->Kill(node);
  const core::View& view = cluster_->core("n6").view();
  ASSERT_TRUE(cluster_->RunUntil([&] { return view.LiveMembers() == 3; }, seconds(30)));
  EXPECT_EQ(view.steadiness().GoneSince(TimePoint::min()).size(), 3u);
}

// Plan: an application changes its mind every 10 ms for 20 s, and stays unhealthy in the end. The
// record says so once a second at most; then it says the last word, and others lead.
TEST_F(HealthTest, AnApplicationThatChangesItsMindAllTheTimeIsWrittenOnceASecond) {
  Up(3);
  const std::size_t before = Updates("n1");
  bool healthy = true;
  for (int i = 0; i < 2001; ++i) {
    healthy = !healthy;
    Say("n1", healthy);
    cluster_->Run(milliseconds(10));
  }
  EXPECT_LE(Updates("n1") - before, 21u);
  EXPECT_GE(Updates("n1") - before, 5u) << "and it is not forgotten";
  ASSERT_FALSE(healthy);
  ASSERT_TRUE(
      cluster_->RunUntil([&] { return cluster_->store().Member("n1").unhealthy; }, seconds(2)));
  EXPECT_TRUE(OthersLeadAll(seconds(20)));
}

// Plan: after a quiet time the first change is written in the same step, the next one a second
// later; but that the node leaves, at once.
TEST_F(HealthTest, AChangeAfterAQuietSecondIsWrittenAtOnceAndSoIsTheEnd) {
  Up(3);
  cluster_->Run(seconds(2));
  const std::size_t before = Updates("n1");
  Say("n1", false);
  EXPECT_EQ(Updates("n1"), before + 1);
  cluster_->Run(milliseconds(500));
  Say("n1", true);
  EXPECT_EQ(Updates("n1"), before + 1);
  cluster_->Run(milliseconds(600));
  EXPECT_EQ(Updates("n1"), before + 2);
  EXPECT_FALSE(cluster_->store().Member("n1").unhealthy);
  Say("n1", false);
  EXPECT_EQ(Updates("n1"), before + 2);
  cluster_->Drain("n1");
  EXPECT_EQ(Updates("n1"), before + 3);
  EXPECT_TRUE(cluster_->RunUntil([&] { return cluster_->finished("n1"); }, seconds(20)));
}

// Plan: the application of an embedded node gives no sign of life. At the same instant the node
// leads nothing, and others have everything within a few round trips; the node begins no session
// until the next sign comes.
TEST_F(HealthTest, ASilentApplicationLeadsNothingAtOnce) {
  Up(3);
  const SessionId session = cluster_->store().Member("n1").session;
  const Term before = cluster_->TermOf(cluster_->ShardsOf("n1").front());
  const ShardId shard = cluster_->ShardsOf("n1").front();
  Is("n1", ApplicationState::kAbsent);
  EXPECT_EQ(cluster_->LedBy("n1"), 0u);
  EXPECT_TRUE(OthersLeadAll(milliseconds(200)));
  EXPECT_LT(before, cluster_->TermOf(shard));
  cluster_->Run(seconds(30));
  EXPECT_FALSE(cluster_->store().Member("n1").present);
  Is("n1", ApplicationState::kAttached);
  EXPECT_TRUE(HasItsShare());
  EXPECT_NE(cluster_->store().Member("n1").session, session);
}

// Plan: a silent node is told to stop; it does, at once, although it has no session.
TEST_F(HealthTest, ASilentNodeMayStop) {
  Up(2);
  Is("n1", ApplicationState::kAbsent);
  cluster_->Run(seconds(1));
  cluster_->Drain("n1");
  EXPECT_TRUE(cluster_->RunUntil([&] { return cluster_->finished("n1"); }, seconds(20)));
}

}  // namespace
}  // namespace baton::test
