// The division by examples: small groups, each result on one line.
#include "core/division.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/division_views.h"

namespace baton::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr MemberIndex kA = 0, kB = 1, kC = 2;
constexpr std::size_t kNoLimit = 1'000'000;

// A group of members "a", "b", ... by weight.
DivisionInput Group(const std::vector<std::uint32_t>& weights) {
  DivisionInput view;
  for (const std::uint32_t weight : weights) {
    const auto letter = static_cast<char>('a' + view.members.size());
    view.members.push_back({.id = std::string(1, letter), .weight = weight});
  }
  return view;
}

// Adds a shard for each letter, which is its leader; '.' is a vacancy.
DivisionInput Led(DivisionInput view, const std::string& leaders) {
  for (const char letter : leaders) {
    const MemberIndex leader = letter == '.' ? kNobody : static_cast<MemberIndex>(letter - 'a');
    view.shards.push_back({.leader = leader});
  }
  return view;
}

// The leaders, in the same letters, once all claims are carried out.
std::string AfterClaims(DivisionInput view) {
  CarryOut(Divide(view).claims, view);
  std::string leaders;
  for (const DivisionShard& shard : view.shards) {
    leaders += shard.leader == kNobody ? "." : view.members[shard.leader].id;
  }
  return leaders;
}

// Moves as "shard:from>to", with a '!' for drains.
std::vector<std::string> Moves(const DivisionInput& view, std::size_t limit = kNoLimit,
                               const std::vector<bool>& movable = {}) {
  std::vector<std::string> words;
  for (const PlannedMove& move : PlanMoves(view, movable, limit)) {
    words.push_back(std::to_string(move.shard.value) + ":" + view.members[move.from].id + ">" +
                    view.members[move.to].id + (move.reason == Reason::kDrain ? "!" : ""));
  }
  return words;
}

TEST(Division, CutsAColdStartIntoContiguousBlocksById) {
  EXPECT_EQ(AfterClaims(Led(Group({1, 1, 1}), "..........")), "aaaabbbccc");
}

TEST(Division, SharesByWeightWithTheLargestRemainders) {
  // 10 x 1/6, 2/6 and 3/6 are 1.67, 3.33 and 5: the one left over goes to a.
  const DivisionInput view = Led(Group({1, 2, 3}), "..........");
  EXPECT_THAT(Divide(view).target, ElementsAre(2, 3, 5));
  EXPECT_EQ(AfterClaims(view), "aabbbccccc");
}

TEST(Division, GivesTheLeftoverToWhoeverHoldsItAlready) {
  // b holds one more than its floor: the first id's claim to the leftover would cost a move.
  const DivisionInput view = Led(Group({1, 1}), "abb");
  EXPECT_THAT(Divide(view).target, ElementsAre(1, 2));
  EXPECT_THAT(Moves(view), IsEmpty());
}

TEST(Division, GivesALeftoverThatSeveralHoldToTheLowestId) {
  // 7 shards over 3: a and b both hold more than 2, however much more.
  EXPECT_THAT(Divide(Led(Group({1, 1, 1}), "aaabbbb")).target, ElementsAre(3, 2, 2));
}

TEST(Division, LeavesAllLeaderlessWithoutCandidates) {
  EXPECT_EQ(AfterClaims(Led(Group({}), "...")), "...");
  EXPECT_EQ(AfterClaims(Led(Group({0, 0}), ".a.")), ".a.");
  EXPECT_THAT(Moves(Led(Group({0, 0}), ".a.")), IsEmpty());
  EXPECT_EQ(AfterClaims(Led(Group({1}), "")), "");
}

TEST(Division, FallsBackToDrainingMembersAndThenMovesNothing) {
  DivisionInput view = Led(Group({1, 1, 0}), "aaa.c");
  view.members[kA].draining = view.members[kB].draining = true;
  EXPECT_EQ(AfterClaims(view), "aaabc");
  EXPECT_THAT(Moves(view), IsEmpty());
}

TEST(Division, GivesNothingToDrainingAndWeightlessMembers) {
  DivisionInput view = Led(Group({1, 1, 0}), "......");
  view.members[kA].draining = true;
  EXPECT_EQ(AfterClaims(view), "bbbbbb");
}

TEST(Division, FillsTheLeastLoadedWhenOthersStillHoldTooMuch) {
  // a drains four shards, so b, c and d have seven free seats for three vacancies.
  DivisionInput view = Led(Group({1, 1, 1, 1}), "aaaab...");
  view.members[kA].draining = true;
  EXPECT_EQ(AfterClaims(view), "aaaabbcd");
}

TEST(Division, GivesARestartedNodeItsOwnShardsWithinItsSeats) {
  // b led the last four of six; with two members it has three seats.
  DivisionInput view = Led(Group({1, 1}), "......");
  for (const std::uint32_t shard : {2, 3, 4, 5}) view.shards[shard].prefers = kB;
  EXPECT_EQ(AfterClaims(view), "aabbba");
}

TEST(Division, KeepsAResignedShardFromTheMemberWhoseCallbackHung) {
  // Blocks would be a, a, b, b: 0 and 2 avoid those members and change places with others.
  DivisionInput view = Led(Group({1, 1}), "....");
  view.shards[0].avoids = kA;
  view.shards[2].avoids = kB;
  EXPECT_EQ(AfterClaims(view), "baab");
}

TEST(Division, KeepsARestartedNodesLeftoverFromMembersOfLowerId) {
  // 7 shards, 3 members: c led three and restarts. a must not get the third one in its place.
  DivisionInput view = Led(Group({1, 1, 1}), "aabb...");
  for (const std::uint32_t shard : {4, 5, 6}) view.shards[shard].prefers = kC;
  EXPECT_EQ(AfterClaims(view), "aabbccc");
}

TEST(Division, ServesRestartedNodesBeforeItKeepsResignedShardsApart) {
  // c has one seat, and its own shard 1 to fill it; a's seat is all that is left for shard 0.
  DivisionInput view = Led(Group({1, 0, 1}), "..");
  view.shards[0].avoids = kA;
  view.shards[1].prefers = kC;
  EXPECT_EQ(AfterClaims(view), "ac");
}

TEST(Division, GivesAResignedShardBackWhenNobodyElseHasASeat) {
  DivisionInput alone = Led(Group({1}), ".");
  alone.shards[0].avoids = kA;
  EXPECT_EQ(AfterClaims(alone), "a");
  DivisionInput full = Led(Group({1, 1}), ".abb");
  full.shards[0].avoids = kA;
  EXPECT_EQ(AfterClaims(full), "aabb");
}

TEST(Division, CountsALiveMoveForItsTarget) {
  DivisionInput view = Led(Group({1, 1}), "aaa.");
  view.shards[0].moving_to = kB;
  EXPECT_THAT(Divide(view).held, ElementsAre(2, 1));
  EXPECT_EQ(AfterClaims(view), "aaab");
}

TEST(PlanMoves, MovesTheLowestNumbersToTheEmptiest) {
  EXPECT_THAT(Moves(Led(Group({1, 1, 1}), "aaaaab")), ElementsAre("0:a>c", "1:a>b", "2:a>c"));
}

TEST(PlanMoves, TakesDrainsFirst) {
  // d and e drain, a holds two too many; c is the emptiest until it has as much as b.
  DivisionInput view = Led(Group({1, 1, 1, 1, 1}), "aaaaaabbbdee");
  view.members[3].draining = view.members[4].draining = true;
  EXPECT_THAT(Moves(view), ElementsAre("9:d>c!", "10:e>c!", "11:e>c!", "0:a>b", "1:a>c"));
  EXPECT_THAT(Moves(view, 2), ElementsAre("9:d>c!", "10:e>c!"));
  EXPECT_THAT(Moves(view, 0), IsEmpty());
}

TEST(PlanMoves, TakesFromDonorsInTurn) {
  DivisionInput view = Led(Group({1, 1, 1}), "aaabbb");
  EXPECT_THAT(Moves(view), ElementsAre("0:a>c", "3:b>c"));
  view = Led(Group({1, 1, 1, 0}), "ddddbb");
  EXPECT_THAT(Moves(view), ElementsAre("0:d>a", "1:d>c", "2:d>a", "3:d>c"));
}

TEST(PlanMoves, LeavesMovingAndCoolingShardsAlone) {
  DivisionInput view = Led(Group({1, 1}), "aaaaaa");
  view.shards[0].moving_to = kB;
  EXPECT_THAT(Moves(view, kNoLimit, {true, false, true, false, true, true}),
              ElementsAre("2:a>b", "4:a>b"));
}

TEST(PlanMoves, EmptiesAMemberWhoseWeightBecameZeroWithoutCallingItADrain) {
  EXPECT_THAT(Moves(Led(Group({0, 1}), "aab")), ElementsAre("0:a>b", "1:a>b"));
}

TEST(PlanMoves, KeepsSeatsForOpenVacancies) {
  // b's two free seats are the vacancies'.
  EXPECT_THAT(Moves(Led(Group({1, 1}), "aabb..")), IsEmpty());
  EXPECT_THAT(Moves(Led(Group({1, 1}), "aaa.")), ElementsAre("0:a>b"));
}

TEST(DivisionDeathTest, RefusesBrokenPreconditions) {
  DivisionInput twins = Led(Group({1, 1}), "..");
  twins.members[kB].id = "a";
  EXPECT_DEATH(Divide(twins), "adjacent_find");
  const DivisionInput stranger = Led(Group({1, 1}), "..c");
  EXPECT_DEATH(Divide(stranger), "held.size");
  EXPECT_DEATH(PlanMoves(Led(Group({1}), "a"), {true, true}, 1), "movable");
}

}  // namespace
}  // namespace baton::core
