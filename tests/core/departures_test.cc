// The nodes that left the group lately, when and why, as the others saw it.
#include "core/departures.h"

#include <gtest/gtest.h>

#include <string>

#include "core/cluster.h"

namespace baton::test {
namespace {

using core::Departure;
using core::Departures;

class DeparturesTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(cluster_.Up()) << cluster_.WhyNotSettled(); }
  /// The end of the last session of `node`, as n1 knows it; a departure without a node if it knows
  /// none.
  Departure SeenOf(const NodeId& node) const {
    for (const Departure& left : cluster_.core("n1").view().departures().Lately(cluster_.now())) {
      if (left.node == node) return left;
    }
    return {};
  }
  bool AwaitEndOf(const NodeId& node) {
    return cluster_.RunUntil([&] { return SeenOf(node).node == node; }, seconds(60));
  }

  Cluster cluster_{{}};
};

// Plan: n3 is killed. Its lease runs out, and n1 knows when, why, and how many shards it led.
TEST_F(DeparturesTest, AKilledNodesLeaseExpires) {
  const auto led = static_cast<std::uint32_t>(cluster_.LedBy("n3"));
  cluster_.Kill("n3");
  ASSERT_TRUE(AwaitEndOf("n3"));
  const Departure left = SeenOf("n3");
  EXPECT_EQ(left.why, Reason::kLeaseExpired);
  EXPECT_EQ(left.led, led);
  EXPECT_EQ(left.seen_at, cluster_.now());
  EXPECT_FALSE(left.back);
}

// Plan: n3 drains and ends: it left in order. Then it is killed while it drains, still with shards:
// that is a lease that expired.
TEST_F(DeparturesTest, OnlyWhoHasGivenEverythingAwayLeftInOrder) {
  cluster_.Drain("n3");
  ASSERT_TRUE(AwaitEndOf("n3"));
  EXPECT_EQ(SeenOf("n3").why, Reason::kShutdown);
  EXPECT_EQ(SeenOf("n3").led, 0u);

  cluster_.Behave("n2", core::CallbackKind::kReleasing, Behaviour::kHangs);
  cluster_.Drain("n2");
  cluster_.Run(seconds(1));
  cluster_.Kill("n2");
  ASSERT_TRUE(AwaitEndOf("n2"));
  EXPECT_EQ(SeenOf("n2").why, Reason::kLeaseExpired);
  EXPECT_GT(SeenOf("n2").led, 0u);
}

// Plan: n3 is killed and started again with a proof of its death. It is back at once.
TEST_F(DeparturesTest, AProvenDeathIsToldAlthoughTheNodeIsBack) {
  cluster_.Kill("n3");
  cluster_.Start("n3", true);
  ASSERT_TRUE(AwaitEndOf("n3"));
  EXPECT_EQ(SeenOf("n3").why, Reason::kProcessDied);
  EXPECT_TRUE(SeenOf("n3").back);
}

// Plan: n1's watch is silent while n3 dies; a read shows that it is gone. How is not known.
TEST(View, ADepartureThatAReadShowsHasNoReason) {
  core::View view(1, "n1");
  const TimePoint now{seconds(5)};
  MemberFact member;
  member.node = "n2";
  member.present = true;
  member.lease = member.session = SessionId{2};
  member.revision = Revision{6};
  view.Merge(Snapshot{.revision = Revision{10}, .facts = {member}}, now);
  view.Merge(Snapshot{.revision = Revision{20}, .facts = {}}, now + seconds(1));
  const auto lately = view.departures().Lately(now + seconds(2));
  ASSERT_EQ(lately.size(), 1u);
  EXPECT_EQ(lately[0].why, std::nullopt);
  EXPECT_EQ(lately[0].session, SessionId{2});
}

// Plan: two thousand nodes leave, one a second. The newest 1,024 are kept, and told for an hour.
TEST(Departures, AreBoundedInNumberAndTime) {
  Departures departures;
  TimePoint now{seconds(100)};
  for (int i = 0; i < 2000; ++i) {
    now += seconds(1);
    departures.Add({.node = "pod-" + std::to_string(i), .seen_at = now, .why = std::nullopt});
  }
  const auto lately = departures.Lately(now);
  ASSERT_EQ(lately.size(), Departures::kMaxKept);
  EXPECT_EQ(lately.front().node, "pod-1999");
  EXPECT_EQ(lately.back().node, "pod-976");
  EXPECT_EQ(departures.Lately(now + Departures::kToldFor - seconds(1)).size(), 1u);
  EXPECT_TRUE(departures.Lately(now + Departures::kToldFor).empty());
}

}  // namespace
}  // namespace baton::test
