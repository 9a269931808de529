// Properties that must hold for every view, tried on random ones. A failure names the seed of its
// view, which determines everything.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/assignment.h"
#include "core/assignment_views.h"

namespace baton::core {
namespace {

using ::testing::IsEmpty;

constexpr std::size_t kAnyNumber = 1'000'000;

// Runs `property(dice)` once for each seed until one fails.
template <typename Property>
void ForEachSeed(std::uint64_t trials, Property property) {
  for (std::uint64_t seed = 1; seed <= trials / BATON_FEWER_SEEDS; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Dice dice(seed);
    property(dice);
    if (::testing::Test::HasFailure()) return;
  }
}

bool IsVacant(const AssignmentShard& shard) { return shard.vacant(); }

bool HasActiveCandidate(const AssignmentInput& view) {
  return std::any_of(view.members.begin(), view.members.end(),
                     [](const AssignmentMember& m) { return m.weight > 0 && !m.draining; });
}

bool HasCandidate(const AssignmentInput& view) {
  return std::any_of(view.members.begin(), view.members.end(),
                     [](const AssignmentMember& m) { return m.weight > 0; });
}

bool IsCandidate(const AssignmentInput& view, MemberIndex m) {
  return view.members[m].weight > 0 && (!view.members[m].draining || !HasActiveCandidate(view));
}

std::vector<std::uint32_t> CountClaims(const AssignmentInput& view, const Assignment& assignment) {
  std::vector<std::uint32_t> seats(view.members.size(), 0);
  for (const PlannedClaim& claim : assignment.claims) ++seats[claim.to];
  return seats;
}

// The smallest number of moves that bring every member to its target.
std::size_t CountAboveTarget(const Assignment& assignment) {
  std::size_t above = 0;
  for (std::size_t m = 0; m < assignment.held.size(); ++m) {
    if (assignment.held[m] > assignment.target[m])
      above += assignment.held[m] - assignment.target[m];
  }
  return above;
}

AssignmentInput Balanced(AssignmentInput view) {
  CarryOut(Assign(view).claims, view);
  CarryOut(PlanMoves(view, {}, kAnyNumber), view);
  return view;
}

// Claims or moves with the names of members, which stay the same if the members' order changes.
template <typename Planned>
std::vector<std::tuple<std::uint32_t, NodeId, NodeId>> ByName(const AssignmentInput& view,
                                                              const std::vector<Planned>& planned) {
  std::vector<std::tuple<std::uint32_t, NodeId, NodeId>> named;
  for (const Planned& p : planned) {
    NodeId from;
    if constexpr (requires { p.from; }) from = view.members[p.from].id;
    named.emplace_back(p.shard.value, from, view.members[p.to].id);
  }
  return named;
}

TEST(AssignmentProperties, EveryVacancyHasExactlyOneClaimerIfThereIsACandidate) {
  // Claims, by shard number, are compared with the vacancies; claimers with the candidates.
  ForEachSeed(4000, [](Dice& dice) {
    const AssignmentInput view = RandomView(dice);
    const Assignment assignment = Assign(view);
    std::vector<ShardId> vacancies;
    for (std::uint32_t s = 0; s < view.shards.size(); ++s) {
      if (IsVacant(view.shards[s]) && HasCandidate(view)) vacancies.push_back(ShardId{s});
    }
    std::vector<ShardId> claimed;
    for (const PlannedClaim& claim : assignment.claims) {
      claimed.push_back(claim.shard);
      EXPECT_TRUE(IsCandidate(view, claim.to)) << "shard " << claim.shard.value;
    }
    EXPECT_EQ(claimed, vacancies);
  });
}

TEST(AssignmentProperties, TargetsAreSharesByWeightRoundedAndNobodyClaimsBeyondItsTarget) {
  ForEachSeed(4000, [](Dice& dice) {
    const AssignmentInput view = RandomView(dice);
    const Assignment assignment = Assign(view);
    const std::vector<std::uint32_t> seats = CountClaims(view, assignment);
    std::uint64_t weights = 0;
    for (MemberIndex m = 0; m < view.members.size(); ++m) {
      if (IsCandidate(view, m)) weights += view.members[m].weight;
    }
    std::uint64_t targets = 0;
    for (MemberIndex m = 0; m < view.members.size(); ++m) {
      targets += assignment.target[m];
      if (seats[m] > 0) {
        EXPECT_LE(assignment.held[m] + seats[m], assignment.target[m]) << NodeName(m);
      }
      const std::uint64_t share =
          IsCandidate(view, m) ? view.shards.size() * view.members[m].weight : 0;
      const std::uint64_t floor = weights == 0 ? 0 : share / weights;
      EXPECT_GE(assignment.target[m], floor) << NodeName(m);
      EXPECT_LE(assignment.target[m], floor + (weights != 0 && share % weights != 0))
          << NodeName(m);
    }
    EXPECT_EQ(targets, HasCandidate(view) ? view.shards.size() : 0);
  });
}

TEST(AssignmentProperties, SeatsThatOutnumberTheVacanciesAreFilledFromTheLeastLoaded) {
  // A claimer's load (by weight) is no greater than what one more seat elsewhere would make.
  ForEachSeed(2000, [](Dice& dice) {
    const AssignmentInput view = RandomView(dice);
    const Assignment assignment = Assign(view);
    const std::vector<std::uint32_t> seats = CountClaims(view, assignment);
    for (MemberIndex a = 0; a < view.members.size(); ++a) {
      for (MemberIndex b = 0; b < view.members.size(); ++b) {
        const std::uint64_t after = assignment.held[b] + seats[b];
        if (seats[a] == 0 || a == b || after >= assignment.target[b]) continue;
        EXPECT_LE(std::uint64_t{assignment.held[a] + seats[a]} * view.members[b].weight,
                  (after + 1) * view.members[a].weight)
            << NodeName(a) << " claims rather than " << NodeName(b);
      }
    }
  });
}

TEST(AssignmentProperties, CarryingOutAnyPartLeavesTheRestUnchanged) {
  // Random parts of the claims are carried out, in several steps, until none is left.
  ForEachSeed(6000, [](Dice& dice) {
    AssignmentInput view = RandomView(dice);
    std::vector<PlannedClaim> expected = Assign(view).claims;
    const std::vector<std::uint32_t> target = Assign(view).target;
    const std::uint32_t one_in = 2 + dice.Roll(4);
    for (int step = 0; step < 6 && !expected.empty(); ++step) {
      std::vector<PlannedClaim> done;
      std::vector<PlannedClaim> rest;
      for (const PlannedClaim& claim : expected) {
        (dice.OneIn(one_in) ? done : rest).push_back(claim);
      }
      CarryOut(done, view);
      const Assignment again = Assign(view);
      ASSERT_EQ(again.claims, rest);
      ASSERT_EQ(again.target, target);
      expected = rest;
    }
  });
}

TEST(AssignmentProperties, OneMembersClaimsAtOnceLeaveTheRestUnchanged) {
  // As in a real group: each node carries out its own part, and the nodes come in any order.
  ForEachSeed(1000, [](Dice& dice) {
    AssignmentInput view = RandomView(dice);
    std::vector<PlannedClaim> rest = Assign(view).claims;
    while (!rest.empty()) {
      const MemberIndex next = rest[dice.Roll(rest.size())].to;
      std::vector<PlannedClaim> done;
      std::copy_if(rest.begin(), rest.end(), std::back_inserter(done),
                   [&](const PlannedClaim& claim) { return claim.to == next; });
      std::erase_if(rest, [&](const PlannedClaim& claim) { return claim.to == next; });
      CarryOut(done, view);
      ASSERT_EQ(Assign(view).claims, rest);
    }
  });
}

// Finds the best way to fill the seats by trying all: most preferred by shard number, then fewest
// avoided, then lowest members by shard number.
std::vector<PlannedClaim> BestOfAll(const AssignmentInput& view, const Assignment& assignment) {
  std::vector<MemberIndex> seats;
  for (const PlannedClaim& claim : assignment.claims) seats.push_back(claim.to);
  std::sort(seats.begin(), seats.end());
  using Cost = std::tuple<std::vector<bool>, int, std::vector<MemberIndex>>;
  std::vector<Cost> costs;
  do {
    int avoided = 0;
    std::vector<bool> not_preferred;
    for (std::size_t i = 0; i < seats.size(); ++i) {
      const AssignmentShard& shard = view.shards[assignment.claims[i].shard.value];
      avoided += shard.avoids == seats[i];
      not_preferred.push_back(shard.avoids == kNobody && shard.prefers != kNobody &&
                              shard.prefers != seats[i]);
    }
    costs.emplace_back(not_preferred, avoided, seats);
  } while (std::next_permutation(seats.begin(), seats.end()));
  const auto& best = std::get<2>(*std::min_element(costs.begin(), costs.end()));
  std::vector<PlannedClaim> claims = assignment.claims;
  for (std::size_t i = 0; i < claims.size(); ++i) claims[i].to = best[i];
  return claims;
}

TEST(AssignmentProperties, VacanciesGoWhereTrialOfAllWaysSendsThem) {
  // Members' indexes are in the order of their ids here, so indexes stand for ids.
  ForEachSeed(4000, [](Dice& dice) {
    const AssignmentInput view = RandomView(dice, {.max_members = 4, .max_shards = 8});
    const Assignment assignment = Assign(view);
    EXPECT_EQ(assignment.claims, BestOfAll(view, assignment));
  });
}

TEST(AssignmentProperties, NobodyGetsWhatItAvoidsWhileOthersSeatsCanTakeIt) {
  // Of the vacancies that avoid a member, as many go to others as the others have seats, not
  // counting seats that restarted nodes fill with their own shards.
  ForEachSeed(3000, [](Dice& dice) {
    const AssignmentInput view = RandomView(dice);
    std::vector<std::size_t> avoiding(view.members.size(), 0);
    std::vector<std::size_t> got(view.members.size(), 0);
    std::vector<std::size_t> seats(view.members.size(), 0);
    std::size_t open = 0;
    for (const PlannedClaim& claim : Assign(view).claims) {
      const AssignmentShard& shard = view.shards[claim.shard.value];
      if (shard.avoids == kNobody && shard.prefers == claim.to) continue;
      ++open;
      ++seats[claim.to];
      if (shard.avoids != kNobody) ++avoiding[shard.avoids];
      if (shard.avoids == claim.to) ++got[claim.to];
    }
    for (MemberIndex m = 0; m < view.members.size(); ++m) {
      const std::size_t elsewhere = open - seats[m];
      EXPECT_EQ(got[m], avoiding[m] - std::min(avoiding[m], elsewhere)) << NodeName(m);
    }
  });
}

// Each member leads what it should. Only the seats of shards that wait are free.
void ExpectLedUpToTargets(const AssignmentInput& view, const std::vector<std::uint32_t>& target) {
  const auto waiting = static_cast<std::uint32_t>(
      std::count_if(view.shards.begin(), view.shards.end(),
                    [](const AssignmentShard& shard) { return shard.waits; }));
  const std::vector<std::uint32_t> led = CountLed(view);
  std::uint32_t free = 0;
  for (std::size_t m = 0; m < target.size(); ++m) {
    EXPECT_LE(led[m], target[m]) << NodeName(static_cast<std::uint32_t>(m));
    free += target[m] - led[m];
  }
  EXPECT_EQ(free, waiting);
}

TEST(AssignmentProperties, MovesAreTheFewestAndReachTheTargets) {
  ForEachSeed(3000, [](Dice& dice) {
    AssignmentInput view = RandomView(dice, {.live_moves = false});
    CarryOut(Assign(view).claims, view);
    const std::vector<PlannedMove> moves = PlanMoves(view, {}, kAnyNumber);
    if (!HasActiveCandidate(view)) {
      EXPECT_THAT(moves, IsEmpty());
      return;
    }
    EXPECT_EQ(moves.size(), CountAboveTarget(Assign(view)));
    for (const PlannedMove& move : moves) {
      EXPECT_EQ(view.shards[move.shard.value].leader, move.from);
      EXPECT_EQ(move.reason,
                view.members[move.from].draining ? Reason::kDrain : Reason::kRebalance);
    }
    const std::vector<std::uint32_t> target = Assign(view).target;
    CarryOut(moves, view);
    ExpectLedUpToTargets(view, target);
    EXPECT_EQ(Assign(view).target, target);
    EXPECT_THAT(PlanMoves(view, {}, kAnyNumber), IsEmpty());
  });
}

TEST(AssignmentProperties, MovesPlannedBeforeTheClaimsAreThoseFromAfterThem) {
  // Seats that vacancies are about to fill are kept free for them.
  ForEachSeed(2000, [](Dice& dice) {
    AssignmentInput view = RandomView(dice);
    const std::vector<PlannedMove> before = PlanMoves(view, {}, kAnyNumber);
    CarryOut(Assign(view).claims, view);
    EXPECT_EQ(before, PlanMoves(view, {}, kAnyNumber));
  });
}

TEST(AssignmentProperties, PlanningInSmallBatchesNeedsNoMoreMoves) {
  // A limit of a few moves, planned again after each batch, while some of them are still live.
  ForEachSeed(1000, [](Dice& dice) {
    AssignmentInput view = RandomView(dice, {.max_shards = 120, .live_moves = false});
    CarryOut(Assign(view).claims, view);
    const std::size_t fewest = PlanMoves(view, {}, kAnyNumber).size();
    std::size_t moves = 0;
    for (std::size_t round = 0; round <= 2 * fewest; ++round) {
      for (AssignmentShard& shard : view.shards) {
        if (shard.moving_to != kNobody && dice.OneIn(2)) shard = {.leader = shard.moving_to};
      }
      const std::vector<PlannedMove> planned = PlanMoves(view, {}, 1 + dice.Roll(5));
      for (const PlannedMove& move : planned) view.shards[move.shard.value].moving_to = move.to;
      moves += planned.size();
    }
    EXPECT_EQ(moves, fewest);
    EXPECT_THAT(PlanMoves(view, {}, kAnyNumber), IsEmpty());
  });
}

TEST(AssignmentProperties, LimitTakesTheMostUrgentAndUnmovableShardsStay) {
  ForEachSeed(2000, [](Dice& dice) {
    const AssignmentInput view = RandomView(dice);
    const std::vector<PlannedMove> all = PlanMoves(view, {}, kAnyNumber);
    const std::size_t limit = dice.Roll(20);
    const std::vector<PlannedMove> some = PlanMoves(view, {}, limit);
    ASSERT_EQ(some.size(), std::min(limit, all.size()));
    EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin()));

    std::vector<bool> movable(view.shards.size());
    for (std::size_t s = 0; s < movable.size(); ++s) movable[s] = !dice.OneIn(3);
    // Each donor gives what it holds above its target, or as much of it as may move.
    const Assignment assignment = Assign(view);
    std::vector<std::size_t> available(view.members.size(), 0);
    for (std::size_t s = 0; s < movable.size(); ++s) {
      const AssignmentShard& shard = view.shards[s];
      if (movable[s] && shard.leader != kNobody && shard.moving_to == kNobody)
        ++available[shard.leader];
    }
    std::size_t expected = 0;
    for (MemberIndex m = 0; m < view.members.size() && HasActiveCandidate(view); ++m) {
      const std::size_t above =
          assignment.held[m] - std::min(assignment.held[m], assignment.target[m]);
      expected += std::min(above, available[m]);
    }
    const std::vector<PlannedMove> restrained = PlanMoves(view, movable, kAnyNumber);
    EXPECT_EQ(restrained.size(), expected);
    for (const PlannedMove& move : restrained) EXPECT_TRUE(movable[move.shard.value]);
  });
}

TEST(AssignmentProperties, ShardsWithALiveMoveStayAndDrainsComeFirst) {
  ForEachSeed(2000, [](Dice& dice) {
    const AssignmentInput view = RandomView(dice);
    bool rebalancing = false;
    for (const PlannedMove& move : PlanMoves(view, {}, kAnyNumber)) {
      EXPECT_EQ(view.shards[move.shard.value].moving_to, kNobody);
      EXPECT_NE(move.from, move.to);
      EXPECT_TRUE(IsCandidate(view, move.to));
      rebalancing = rebalancing || move.reason == Reason::kRebalance;
      EXPECT_EQ(move.reason, rebalancing ? Reason::kRebalance : Reason::kDrain);
    }
  });
}

TEST(AssignmentProperties, ResultsDoNotDependOnTheOrderOfMembers) {
  ForEachSeed(2000, [](Dice& dice) {
    const AssignmentInput view = RandomView(dice);
    std::vector<MemberIndex> place(view.members.size());
    std::iota(place.begin(), place.end(), MemberIndex{0});
    for (std::size_t i = place.size(); i > 1; --i) std::swap(place[i - 1], place[dice.Roll(i)]);
    AssignmentInput shuffled = view;
    for (std::size_t m = 0; m < place.size(); ++m) shuffled.members[place[m]] = view.members[m];
    const auto moved = [&](MemberIndex m) { return m == kNobody ? kNobody : place[m]; };
    for (AssignmentShard& shard : shuffled.shards) {
      shard = {.leader = moved(shard.leader),
               .prefers = moved(shard.prefers),
               .avoids = moved(shard.avoids),
               .moving_to = moved(shard.moving_to),
               .waits = shard.waits};
    }
    EXPECT_EQ(ByName(view, Assign(view).claims), ByName(shuffled, Assign(shuffled).claims));
    EXPECT_EQ(ByName(view, PlanMoves(view, {}, 50)), ByName(shuffled, PlanMoves(shuffled, {}, 50)));
  });
}

TEST(AssignmentProperties, AJoiningNodeCostsItsTargetAndNothingMovesBetweenTheOthers) {
  ForEachSeed(1000, [](Dice& dice) {
    AssignmentInput view = Balanced(EqualMembers(1 + dice.Roll(39), dice.Roll(401)));
    const auto newcomer = static_cast<MemberIndex>(view.members.size());
    // Its id may sort before, among or after the others.
    view.members.push_back({.id = NodeName(dice.Roll(40)) + "x"});
    const std::vector<PlannedMove> moves = PlanMoves(view, {}, kAnyNumber);
    EXPECT_EQ(moves.size(), Assign(view).target[newcomer]);
    for (const PlannedMove& move : moves) EXPECT_EQ(move.to, newcomer);
  });
}

TEST(AssignmentProperties, ADeathMovesNothingBetweenSurvivors) {
  // One node after another dies; each time only its shards change hands, and no move follows.
  ForEachSeed(500, [](Dice& dice) {
    AssignmentInput view = Balanced(EqualMembers(2 + dice.Roll(39), dice.Roll(401)));
    while (view.members.size() > 1) {
      view = WithoutMember(view, dice.Roll(view.members.size()));
      CarryOut(Assign(view).claims, view);
      ASSERT_THAT(PlanMoves(view, {}, kAnyNumber), IsEmpty());
    }
  });
}

TEST(AssignmentProperties, ASuccessionFromBalancedSurvivorsLeavesNothingToMove) {
  // Any weights, drains and vacancies, unless a survivor holds more than its target.
  std::uint64_t balanced = 0;
  ForEachSeed(4000, [&](Dice& dice) {
    AssignmentInput view = Balanced(RandomView(dice, {.live_moves = false}));
    const std::uint32_t vacant_one_in = 1 + dice.Roll(6);
    for (AssignmentShard& shard : view.shards) {
      if (dice.OneIn(vacant_one_in)) shard = {};
    }
    if (!HasActiveCandidate(view) || CountAboveTarget(Assign(view)) != 0) return;
    ++balanced;
    CarryOut(Assign(view).claims, view);
    EXPECT_THAT(PlanMoves(view, {}, kAnyNumber), IsEmpty());
  });
  EXPECT_GT(balanced, 2000u / BATON_FEWER_SEEDS);
}

TEST(AssignmentProperties, RestartedNodesGetTheirOwnShardsBack) {
  // One or more nodes of a balanced group restart at once: each gets back exactly what it led. (The
  // seats of shards that wait would be free for others, too.)
  ForEachSeed(2000, [](Dice& dice) {
    AssignmentInput view = RandomView(dice, {.live_moves = false, .waits = false});
    if (!HasActiveCandidate(view)) return;
    view = Balanced(view);
    const AssignmentInput before = view;
    const std::uint32_t restarted_one_in = 1 + dice.Roll(5);
    for (MemberIndex m = 0; m < view.members.size(); ++m) {
      if (!dice.OneIn(restarted_one_in)) continue;
      for (AssignmentShard& shard : view.shards) {
        if (shard.leader == m) shard = {.prefers = m};
      }
    }
    for (const PlannedClaim& claim : Assign(view).claims) {
      EXPECT_EQ(claim.to, before.shards[claim.shard.value].leader);
    }
  });
}

}  // namespace
}  // namespace baton::core
