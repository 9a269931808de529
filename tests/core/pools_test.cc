// Pools: what placement rules make of the members, and assignments with pools.
#include "core/pools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "core/assignment_views.h"

namespace baton::core {
namespace {

using Place = AssignmentPool::Place;
using ::testing::ElementsAre;

constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

struct PoolGroup {
  std::vector<MemberFact> facts;
  AssignmentInput input;

  // A node of the zone, with weight 1.
  PoolGroup& Node(const std::string& zone, bool draining = false) {
    MemberFact fact;
    fact.node = NodeName(static_cast<std::uint32_t>(facts.size()));
    fact.zone = zone;
    facts.push_back(fact);
    input.members.push_back({.id = fact.node, .draining = draining});
    return *this;
  }
  std::vector<const MemberFact*> Pointers() const {
    std::vector<const MemberFact*> pointers;
    for (const MemberFact& fact : facts) pointers.push_back(&fact);
    return pointers;
  }
  Pools Take(const Placement& placement) const {
    return PoolsFor(placement, input.members, Pointers());
  }
};

PlacementRule Require(const LabelTerms& terms) {
  return {.shards = {}, .require = terms, .prefer = {}};
}
PlacementRule Prefer(std::vector<LabelTerms> terms) {
  return {.shards = {}, .require = {}, .prefer = std::move(terms)};
}
const LabelTerms kZoneA{{"zone", {"a"}}};
const LabelTerms kZoneB{{"zone", {"b"}}};

TEST(Pools, ARuleForbidsNodesWithOtherLabels) {
  const Pools pools = PoolGroup().Node("a").Node("b").Node("a").Take({Require(kZoneA)});
  ASSERT_EQ(pools.pools.size(), 1u);
  EXPECT_THAT(pools.pools[0].members,
              ElementsAre(Place::kWanted, Place::kForbidden, Place::kWanted));
  EXPECT_TRUE(pools.Feasible(0));
}

TEST(Pools, TheFirstPreferenceThatSomeNodeFitsCounts) {
  const Placement rules{Prefer({{{"zone", {"c"}}}, kZoneB})};
  const Pools pools = PoolGroup().Node("a").Node("b").Take(rules);
  ASSERT_EQ(pools.pools.size(), 1u);
  EXPECT_THAT(pools.pools[0].members, ElementsAre(Place::kAllowed, Place::kWanted));
}

TEST(Pools, ARuleThatWantsEverybodyNeedsNoPool) {
  const Pools pools =
      PoolGroup().Node("a").Node("a").Take({Require(kZoneA), Prefer({kZoneB}), Require({})});
  EXPECT_THAT(pools.of_rule, ElementsAre(0, 0, 0));
  EXPECT_THAT(pools.pools, ElementsAre());
}

TEST(Pools, RulesThatWantTheSameShareAPool) {
  const Placement rules{Require(kZoneA), Require({{"node", {"n00"}}}), Require(kZoneB)};
  const Pools pools = PoolGroup().Node("a").Node("b").Take(rules);
  EXPECT_THAT(pools.of_rule, ElementsAre(1, 1, 2));
}

TEST(Pools, ANodeThatDrainsIsWantedOnlyIfNobodyElseMayLead) {
  const PoolGroup group = PoolGroup().Node("a", true).Node("b");
  EXPECT_THAT(group.Take({Require(kZoneA)}).pools[0].members,
              ElementsAre(Place::kWanted, Place::kForbidden));
  EXPECT_THAT(group.Take({Prefer({kZoneA})}).of_rule, ElementsAre(0));
}

TEST(Pools, ARuleThatNobodyFitsIsNotFeasible) {
  const Pools pools = PoolGroup().Node("a").Take({Require(kZoneB), Require(kZoneA)});
  EXPECT_FALSE(pools.Feasible(0));
  EXPECT_TRUE(pools.Feasible(1));
}

// Shards 0 to 5 must be in zone a (one node), and 6 to 11 may be anywhere: n00 has its part
// already.
TEST(Pools, ShardsWithoutARuleFillUpWhereFewShardsAre) {
  PoolGroup group = PoolGroup().Node("a").Node("b").Node("b");
  group.input.pools = group.Take({Require(kZoneA)}).pools;
  group.input.shards.resize(12);
  for (std::size_t s = 0; s < 6; ++s) group.input.shards[s].pool = 1;
  EXPECT_THAT(Assign(group.input).target, ElementsAre(6, 3, 3));
  CarryOut(Assign(group.input).claims, group.input);
  EXPECT_THAT(CountLed(group.input), ElementsAre(6, 3, 3));
}

// A sitting leader stays if nobody may lead the shard.
TEST(Pools, NothingMovesForARuleThatNobodyFits) {
  PoolGroup group = PoolGroup().Node("a").Node("a");
  group.input.pools = group.Take({Require(kZoneB)}).pools;
  group.input.shards = {{.leader = 0, .pool = 1}, {.leader = 0, .pool = 1}, {.pool = 1}};
  EXPECT_THAT(PlanMoves(group.input, {}, kUnlimited), ElementsAre());
  EXPECT_THAT(Assign(group.input).claims, ElementsAre());
  EXPECT_THAT(Assign(group.input).target, ElementsAre(2, 0));
}

TEST(Pools, AForbiddenLeaderGivesUpAtOnceAndALessPreferredOneNot) {
  PoolGroup group = PoolGroup().Node("a").Node("b");
  group.input.pools = group.Take({Require(kZoneB), Prefer({kZoneB})}).pools;
  ASSERT_EQ(group.input.pools.size(), 2u);
  group.input.shards = {{.leader = 0, .pool = 2}, {.leader = 0, .pool = 1}};
  EXPECT_THAT(PlanMoves(group.input, {}, kUnlimited),
              ElementsAre(PlannedMove{.shard = ShardId{1}, .from = 0, .to = 1, .urgent = true},
                          PlannedMove{.shard = ShardId{0}, .from = 0, .to = 1}));
}

// ---- properties
// ----------------------------------------------------------------------------------

LabelTerms RandomTerms(Dice& dice) {
  switch (dice.Roll(4)) {
    case 0: return kZoneA;
    case 1: return kZoneB;
    case 2: return {{"zone", {"a", "b"}}};
    default: return {{"node", {NodeName(dice.Roll(6)), NodeName(dice.Roll(6))}}};
  }
}

struct RandomGroup {
  Placement placement;
  std::vector<std::size_t> rule_of;  ///< by shard; placement.size(): none
  std::vector<MemberFact> facts;
  AssignmentInput input;
  Pools pools;
};

RandomGroup Draw(Dice& dice, const ViewOptions& options) {
  RandomGroup group;
  group.input = RandomView(dice, options);
  for (const AssignmentMember& member : group.input.members) {
    MemberFact fact;
    fact.node = member.id;
    fact.zone = std::string(1, static_cast<char>('a' + dice.Roll(3)));
    group.facts.push_back(fact);
  }
  for (std::uint32_t rules = dice.Roll(5); rules > 0; --rules) {
    PlacementRule rule;
    if (dice.OneIn(2)) rule.require = RandomTerms(dice);
    for (std::uint32_t tiers = dice.Roll(3); tiers > 0; --tiers) {
      rule.prefer.push_back(RandomTerms(dice));
    }
    group.placement.push_back(rule);
  }
  std::vector<const MemberFact*> pointers;
  for (const MemberFact& fact : group.facts) pointers.push_back(&fact);
  group.pools = PoolsFor(group.placement, group.input.members, pointers);
  group.input.pools = group.pools.pools;
  const std::size_t choices = group.placement.size() + (dice.OneIn(2) ? 1 : 0);
  std::vector<AssignmentShard> kept;
  for (AssignmentShard& shard : group.input.shards) {
    const std::size_t rule = choices == 0 ? 0 : dice.Roll(choices);
    if (rule < group.placement.size()) {
      shard.pool = group.pools.of_rule[rule];
      // The view leaves such a shard out.
      if (shard.vacant() && !group.pools.Feasible(rule)) continue;
    }
    group.rule_of.push_back(rule);
    kept.push_back(shard);
  }
  group.input.shards = std::move(kept);
  return group;
}

ViewOptions Small() { return {.max_members = 6, .max_shards = 24}; }

void ForEach(int rounds, const ViewOptions& options, auto check) {
  for (int round = 0; round < rounds / BATON_FEWER_SEEDS; ++round) {
    SCOPED_TRACE("seed " + std::to_string(round));
    Dice dice(static_cast<std::uint64_t>(round));
    check(dice, Draw(dice, options));
    if (::testing::Test::HasFailure()) return;
  }
}

/// Claims leave the pool's number where it is.
void Carry(const std::vector<PlannedClaim>& claims, AssignmentInput& input) {
  for (const PlannedClaim& claim : claims) {
    AssignmentShard& shard = input.shards[claim.shard.value];
    shard = {.leader = claim.to, .pool = shard.pool};
  }
}
void Carry(const std::vector<PlannedMove>& moves, AssignmentInput& input) {
  for (const PlannedMove& move : moves) input.shards[move.shard.value].leader = move.to;
}

bool Leads(const AssignmentInput& input) {
  return std::any_of(input.members.begin(), input.members.end(),
                     [](const AssignmentMember& member) { return member.weight > 0; });
}

Place PlaceOf(const AssignmentInput& input, const AssignmentShard& shard, MemberIndex m) {
  return shard.pool == 0 ? Place::kWanted : input.pools[shard.pool - 1].members[m];
}

TEST(PoolProperties, EveryVacancyGoesToAWantedMemberOnce) {
  ForEach(4000, {}, [](Dice&, const RandomGroup& group) {
    const AssignmentInput& input = group.input;
    std::vector<ShardId> claimed;
    for (const PlannedClaim& claim : Assign(input).claims) {
      claimed.push_back(claim.shard);
      EXPECT_EQ(PlaceOf(input, input.shards[claim.shard.value], claim.to), Place::kWanted);
      EXPECT_GT(input.members[claim.to].weight, 0u);
    }
    std::vector<ShardId> vacant;
    for (std::uint32_t s = 0; s < input.shards.size(); ++s) {
      if (input.shards[s].vacant() && Leads(input)) vacant.push_back(ShardId{s});
    }
    EXPECT_EQ(claimed, vacant);
  });
}

TEST(PoolProperties, CarryingOutAnyPartLeavesTheRestUnchanged) {
  ForEach(6000, {.max_members = 12, .max_shards = 120}, [](Dice& dice, RandomGroup group) {
    AssignmentInput& input = group.input;
    std::vector<PlannedClaim> expected = Assign(input).claims;
    const std::vector<std::uint32_t> target = Assign(input).target;
    for (int step = 0; step < 6 && !expected.empty(); ++step) {
      std::vector<PlannedClaim> done;
      std::vector<PlannedClaim> rest;
      for (const PlannedClaim& claim : expected) (dice.OneIn(3) ? done : rest).push_back(claim);
      Carry(done, input);
      ASSERT_EQ(Assign(input).claims, rest);
      ASSERT_EQ(Assign(input).target, target);
      expected = rest;
    }
  });
}

TEST(PoolProperties, MovesEndWithEveryShardWhereItIsWantedAndThenNothingMoves) {
  ForEach(6000, {.live_moves = false, .waits = false}, [](Dice&, RandomGroup group) {
    AssignmentInput& input = group.input;
    Carry(Assign(input).claims, input);
    const std::vector<PlannedMove> moves = PlanMoves(input, {}, kUnlimited);
    for (const PlannedMove& move : moves) {
      const AssignmentShard& shard = input.shards[move.shard.value];
      EXPECT_EQ(PlaceOf(input, shard, move.to), Place::kWanted);
      EXPECT_EQ(move.urgent, input.members[move.from].draining ||
                                 PlaceOf(input, shard, move.from) == Place::kForbidden);
    }
    Carry(moves, input);
    EXPECT_THAT(PlanMoves(input, {}, kUnlimited), ElementsAre());
    std::vector<bool> feasible(input.pools.size() + 1, true);
    std::vector<bool> stays(input.pools.size() + 1, false);
    for (std::size_t p = 0; p < input.pools.size(); ++p) {
      feasible[p + 1] = false;
      for (MemberIndex m = 0; m < input.members.size(); ++m) {
        const bool wanted = input.pools[p].members[m] == Place::kWanted;
        feasible[p + 1] = feasible[p + 1] || wanted;
        stays[p + 1] = stays[p + 1] || (wanted && input.members[m].draining);
      }
    }
    for (const AssignmentShard& shard : input.shards) {
      if (shard.leader == kNobody || !feasible[shard.pool] || stays[shard.pool]) continue;
      EXPECT_EQ(PlaceOf(input, shard, shard.leader), Place::kWanted);
    }
  });
}

// With equal weights: in each pool, no wanted member has two shards more than another one; and no
// member with a shard that has no rule has two more than another one in all.
TEST(PoolProperties, EachPoolIsSpreadEvenlyAndTheRestFillsUp) {
  ForEach(3000, {.live_moves = false, .waits = false}, [](Dice&, RandomGroup group) {
    AssignmentInput& input = group.input;
    for (AssignmentMember& member : input.members) member = {.id = member.id};
    std::vector<const MemberFact*> pointers;
    for (const MemberFact& fact : group.facts) pointers.push_back(&fact);
    const Pools pools = PoolsFor(group.placement, input.members, pointers);
    input.pools = pools.pools;
    for (std::size_t s = 0; s < input.shards.size(); ++s) {
      const std::size_t rule = group.rule_of[s];
      input.shards[s].pool = rule < pools.of_rule.size() ? pools.of_rule[rule] : 0;
    }
    Carry(Assign(input).claims, input);
    Carry(PlanMoves(input, {}, kUnlimited), input);
    std::vector<std::uint32_t> all(input.members.size(), 0);
    std::vector<std::vector<std::uint32_t>> led(input.pools.size() + 1, all);
    for (const AssignmentShard& shard : input.shards) {
      if (shard.leader == kNobody) continue;
      ++led[shard.pool][shard.leader];
      ++all[shard.leader];
    }
    for (MemberIndex a = 0; a < all.size(); ++a) {
      for (MemberIndex b = 0; b < all.size(); ++b) {
        if (led[0][a] > 0) {
          EXPECT_LE(all[a], all[b] + 1);
        }
        for (std::size_t p = 1; p < led.size(); ++p) {
          const std::vector<Place>& places = input.pools[p - 1].members;
          if (places[a] != Place::kWanted || places[b] != Place::kWanted) continue;
          EXPECT_LE(led[p][a], led[p][b] + 1);
        }
      }
    }
  });
}

TEST(PoolProperties, AMillionRuleSetsAbortNothing) {
  ForEach(1'000'000, Small(), [](Dice&, const RandomGroup& group) {
    const Assignment assignment = Assign(group.input);
    const std::vector<PlannedMove> moves = PlanMoves(group.input, {}, kUnlimited);
    ASSERT_LE(assignment.claims.size() + moves.size(), group.input.shards.size());
  });
}

}  // namespace
}  // namespace baton::core
