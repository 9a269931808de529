// The cost of a large group for the loop of one of its nodes grows with what happens, not with its
// square. The figures of a group of 1,000 nodes and 100,000 shards: baton_loop, RESULTS.md.
#include <gtest/gtest.h>

#include "base/growth.h"
#include "runtime/status_assignment.h"
#include "sim/crowd.h"

namespace baton::sim {
namespace {

constexpr Duration kMaxWait = std::chrono::minutes(2);

// Plan: a hundred members join a node that leads all shards. Nothing is vacant, so nothing is
// divided. The balancer looks at all shards at most once in the time that their number asks for.
TEST(LoopCost, MembersThatJoinCauseNoDivisions) {
  constexpr std::uint32_t kShards = 20'000;
  Crowd crowd({.members = 100, .shards = kShards});
  crowd.Start();
  ASSERT_TRUE(crowd.RunUntilAllAreLed(kMaxWait));
  crowd.RunFor(seconds(1));
  const auto assignments = crowd.node().core().succession().counters().assignments;
  const auto plans = crowd.node().core().balancer().counters().plans;
  const TimePoint begun = crowd.world().now();
  for (int n = 0; n < 100; ++n) {
    crowd.Join(n);
    crowd.RunFor(microseconds(500));
  }
  const auto most = static_cast<std::uint64_t>((crowd.world().now() - begun) / milliseconds(10));
  EXPECT_EQ(crowd.node().core().succession().counters().assignments, assignments);
  EXPECT_LE(crowd.node().core().balancer().counters().plans - plans, most + 2);
}

// Plan: members die one by one, and the script claims all that falls to its members: 2,000
// leaderships begin. The node divides for each death, and not for what others claim; it looks who
// stalls only if a member changed, or its time has come.
TEST(LoopCost, ClaimsOfOthersCauseNoDivisions) {
  Crowd crowd({.members = 100, .shards = 20'000});
  for (int n = 0; n < 100; ++n) crowd.Join(n);
  crowd.Start();
  crowd.GiveAll();
  ASSERT_TRUE(crowd.RunUntilAllAreLed(kMaxWait));
  crowd.RunFor(seconds(5));
  const core::Succession::Counters before = crowd.node().core().succession().counters();
  constexpr int kDeaths = 10;
  for (int n = 0; n < kDeaths; ++n) {
    crowd.Die(n);
    crowd.RunFor(milliseconds(500));
  }
  ASSERT_TRUE(crowd.RunUntilAllAreLed(kMaxWait));
  const core::Succession::Counters& after = crowd.node().core().succession().counters();
  EXPECT_LE(after.assignments - before.assignments, 3 * kDeaths);
  EXPECT_LE(after.looks_at_others - before.looks_at_others, 10 * kDeaths);
}

// Plan: of three nodes, the real one loses its session, and its application returns from `lost` for
// each shard, one after another.
TEST(LoopCost, ALostSessionCostsWhatItsShardsCost) {
  const auto lose = [](int shards) {
    Crowd crowd({.members = 2, .shards = static_cast<std::uint32_t>(shards), .listener = true});
    for (int n = 0; n < 2; ++n) crowd.Join(n);
    crowd.Start();
    EXPECT_TRUE(crowd.RunUntilAllAreLed(kMaxWait));
    crowd.RunFor(seconds(1));
    crowd.TakeCost();
    crowd.EndSession();
    crowd.RunFor(milliseconds(50));
    return crowd.TakeCost().all;
  };
  EXPECT_LT(test::GrowthOverFour(5'000, lose), test::kMaxGrowth);
}

// Plan: a rule requires one of three zones for a third of the shards, and this zone dies; the real
// node is in another. The number of members grows with that of the shards. Each rule is asked once
// whether somebody may lead by it, not each shard.
TEST(LoopCost, AZoneThatDiesCostsWhatItsShardsCost) {
  const auto lose = [](int members) {
    const auto shards = static_cast<std::uint32_t>(100 * members);
    Crowd crowd({.members = members, .shards = shards, .zones = 3});
    PlacementRule rule;
    rule.shards = {{0, shards / 3 - 1}};
    rule.require = {{std::string(kZoneLabel), {Crowd::ZoneName(1)}}};
    crowd.StartAsBalancer({rule});
    crowd.GiveAll();
    EXPECT_TRUE(crowd.RunUntilAllAreLed(kMaxWait));
    crowd.RunFor(seconds(5));
    crowd.TakeCost();
    for (int n = 1; n < members; n += 3) crowd.Die(n);
    crowd.RunFor(seconds(5));
    EXPECT_EQ(crowd.node().core().view().vacancies(), shards / 3);
    return crowd.TakeCost().all;
  };
  EXPECT_LT(test::GrowthOverFour(60, lose), test::kMaxGrowth);
}

// Plan: three times, a status is asked for. One member's key changes before the second, and one
// shard before the third. Each shares with the one before what did not change.
TEST(LoopCost, AStatusSharesWhatDidNotChange) {
  constexpr std::uint32_t kShards = 20'000;
  Crowd crowd({.members = 40, .shards = kShards});
  for (int n = 0; n < 40; ++n) crowd.Join(n);
  crowd.Start();
  crowd.GiveAll();
  ASSERT_TRUE(crowd.RunUntilAllAreLed(kMaxWait));
  crowd.RunFor(seconds(5));
  runtime::GroupFollower& follower = crowd.node().engine().follower();
  const auto before = follower.Status();
  crowd.Update(3);
  crowd.RunFor(seconds(1));
  const auto after = follower.Status();
  ASSERT_NE(before, after);
  std::uint32_t rendered = 0;
  for (std::uint32_t s = 0; s < kShards; ++s) {
    rendered += &before->shards[s] != &after->shards[s] ? 1 : 0;
  }
  // the blocks that have shards of this one member
  EXPECT_GT(rendered, 0u);
  EXPECT_LE(rendered, kShards / 40 + 2 * 256);
  EXPECT_EQ(before->assignment, after->assignment);
  crowd.Give(ShardId{7}, after->shards[7].leader == "m3" ? 4 : 3);
  crowd.RunFor(seconds(1));
  const auto third = follower.Status();
  ASSERT_NE(third->shards[7].leader, after->shards[7].leader);
  EXPECT_NE(&third->assignment->shards()[7], &after->assignment->shards()[7]);
  for (std::uint32_t s = 256; s < kShards; ++s) {
    ASSERT_EQ(&third->assignment->shards()[s], &after->assignment->shards()[s]) << s;
  }
}

}  // namespace
}  // namespace baton::sim
