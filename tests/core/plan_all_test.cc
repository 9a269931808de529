// The assignment, and what `rebalance plan` shows, if the failover policy keeps shards for their
// owners.
#include <gtest/gtest.h>

#include "core/assignment_of_view.h"
#include "core/cluster.h"
#include "core/may_claim.h"

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

  // By member: how many shards n2 thinks that it should hold, and holds.
  std::string TargetsAndHeld() {
    const core::AssignmentOfView of_view =
        core::AssignmentFrom(cluster_.core("n2").view(), Duration{0}, cluster_.now());
    const core::Assignment assignment = core::Assign(of_view.input);
    std::string text;
    for (std::size_t i = 0; i < of_view.input.members.size(); ++i) {
      text += of_view.input.members[i].id + " " + std::to_string(assignment.target[i]) + " " +
              std::to_string(assignment.held[i]) + ", ";
    }
    return text;
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

// Plan: n1 dies without a proof, and a lock delay of a minute runs. Under "never" the others need
// no room for what only n1 can lead. Once n1 is back, its shards count as its own while they still
// wait, so no other node moves shards to it or away from itself.
TEST_P(PlanOfKeptShards, CountsWaitingShardsForTheirOwner) {
  ConfigFact config = std::get<ConfigFact>(cluster_.store().Get("config"));
  config.failover.lock_delay = seconds(60);
  cluster_.store().Put(config);
  cluster_.Run(seconds(1));
  cluster_.Kill("n1");
  ASSERT_TRUE(cluster_.RunUntil([&] { return !cluster_.core("n2").view().member("n1")->Live(); },
                                seconds(30)));
  const bool never = GetParam() == FailoverPolicy::kNever;
  EXPECT_EQ(TargetsAndHeld(), never ? "n2 4 4, n3 4 4, " : "n2 6 4, n3 6 4, ");
  cluster_.Start("n1");
  ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.core("n2").view().member("n1")->Live(); },
                                seconds(30)));
  EXPECT_EQ(TargetsAndHeld(), "n1 4 4, n2 4 4, n3 4 4, ");
  cluster_.Run(seconds(30));
  EXPECT_EQ(cluster_.LedBy("n1"), 0u);
  cluster_.Run(seconds(40));
  EXPECT_EQ(cluster_.LedBy("n1"), 4u);
}

// Plan: this node's state directory proves that its session 7 has ended, and the shard's record
// names that session. Others wait for a lock delay, if there is one, and this node alone does not.
TEST(LockedForOthers, EndsWithTheLockDelay) {
  const ShardId shard{0};
  const TimePoint start{seconds(100)};
  for (const milliseconds delay : {milliseconds(0), milliseconds(5'000)}) {
    core::View view(1, "n1");
    view.NoteStopped(SessionId{7});
    const ConfigFact config{.revision = Revision{1},
                            .present = true,
                            .shards = 1,
                            .schema = kConfigSchema,
                            .failover = {.lock_delay = delay}};
    RecordFact record{.revision = Revision{6}, .present = true, .leader = "n1"};
    record.session = SessionId{7};
    view.Merge(Snapshot{.revision = Revision{10},
                        .facts = {config, ShardRecordFact{.shard = shard, .record = record}}},
               start);
    const bool delayed = delay > milliseconds(0);
    EXPECT_EQ(core::LockedForOthers(view, shard, start), delayed);
    EXPECT_FALSE(core::LockedForOthers(view, shard, start + seconds(5)));
    record.revision = Revision{20};  // by a write's answer: the watch is not there yet
    view.Merge(std::vector<Fact>{ShardRecordFact{.shard = shard, .record = record}}, start);
    EXPECT_EQ(view.UnledSince(shard), std::nullopt);
    EXPECT_EQ(core::LockedForOthers(view, shard, start), delayed);
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, PlanOfKeptShards,
                         ::testing::Values(FailoverPolicy::kNever, FailoverPolicy::kAfter));

}  // namespace
}  // namespace baton::test
