// `rebalance plan` shows no moves of shards that the failover policy keeps for their owners.
#include <gtest/gtest.h>

#include "core/assignment_of_view.h"
#include "core/cluster.h"

namespace baton::test {
namespace {

// Three nodes lead four shards each. n2 is asked for the plan.
class PlanOfKeptShards : public ::testing::TestWithParam<FailoverPolicy> {
 protected:
  static ClusterOptions Options() {
    ClusterOptions options;
    options.tune = [](core::CoreOptions& tuned) {
      tuned.self.directory = std::hash<NodeId>{}(tuned.self.node) | 1;
      tuned.release_timeout = seconds(60);
    };
    return options;
  }
  void SetUp() override {
    ASSERT_TRUE(cluster_.Up()) << cluster_.WhyNotSettled();
    ConfigFact config = std::get<ConfigFact>(cluster_.store().Get("config"));
    config.schema = kConfigSchema;
    config.failover = {.policy = GetParam(), .delay = seconds(600)};
    cluster_.store().Put(config);
    cluster_.HoldWatch("n1", false);  // the watches hear of it
    cluster_.Run(seconds(1));
    ASSERT_EQ(cluster_.core("n2").view().failover().policy, GetParam());
  }
  void TearDown() override { EXPECT_EQ(cluster_.violations(), kNone); }
  // "n1 n1 ": by shard, who would give it away.
  std::string Givers() {
    const core::View& view = cluster_.core("n2").view();
    std::string givers;
    for (const MoveFact& move :
         core::PlanAll(core::AssignmentFrom(view, Duration{0}, cluster_.now()),
                       {.rules = view.rules(),
                       .term_of = [&](ShardId shard) { return view.record(shard).term(); },
                       .member_of = [&](const NodeId& node) -> const MemberFact& {
                         return *view.member(node);
                       }})) {
      givers += move.from + " ";
    }
    return givers;
  }

  Cluster cluster_{Options()};
};

// Plan: n1 stops, and its application takes a minute to release what it leads. Those shards stay
// with n1, so that it leads them again after its restart.
TEST_P(PlanOfKeptShards, HasNoMovesOfShardsOfANodeThatStops) {
  cluster_.Behave("n1", core::CallbackKind::kReleasing, Behaviour::kHangs);
  cluster_.Drain("n1");
  ASSERT_TRUE(cluster_.RunUntil(
      [&] {
        const MemberFact* member = cluster_.core("n2").view().member("n1");
        return member != nullptr && member->Leaves();
      },
      seconds(5)));
  EXPECT_EQ(Givers(), "");
}

// Plan: n1 was away, is back, and is drained by an operator. Until it has taken its shards back
// there is nothing that could be moved.
TEST_P(PlanOfKeptShards, HasNoMovesOfShardsThatTheirOwnerHasYetToTakeBack) {
  cluster_.Kill("n1");
  ASSERT_TRUE(cluster_.RunUntil([&] { return !cluster_.core("n2").view().member("n1")->Live(); },
                                seconds(30)));
  EXPECT_EQ(Givers(), "");
  cluster_.DenyWrites("n1", [](const Write& write) { return IsA<ClaimBatch>(write); });
  cluster_.Start("n1");
  ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.core("n2").view().member("n1")->Live(); },
                                seconds(30)));
  cluster_.Policy("n2", {PolicyKind::kDrain, "n1"});
  cluster_.Run(milliseconds(20));
  EXPECT_EQ(cluster_.LedBy("n1"), 0u);
  EXPECT_EQ(Givers(), "");
}

INSTANTIATE_TEST_SUITE_P(Policies, PlanOfKeptShards,
                         ::testing::Values(FailoverPolicy::kNever, FailoverPolicy::kAfter));

}  // namespace
}  // namespace baton::test
