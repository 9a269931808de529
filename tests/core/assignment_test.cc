// The assignment by examples: small groups, each result on one line.
#include "core/assignment.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/assignment_views.h"

namespace baton::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr MemberIndex kA = 0, kB = 1, kC = 2;
constexpr std::size_t kNoLimit = 1'000'000;

// A group of members "a", "b", ... by weight.
AssignmentInput Group(const std::vector<std::uint32_t>& weights) {
  AssignmentInput view;
  for (const std::uint32_t weight : weights) {
    const auto letter = static_cast<char>('a' + view.members.size());
    view.members.push_back({.id = std::string(1, letter), .weight = weight});
  }
  return view;
}

// Adds a shard for each letter, which is its leader; '.' is a vacancy.
AssignmentInput Led(AssignmentInput view, const std::string& leaders) {
  for (const char letter : leaders) {
    const MemberIndex leader = letter == '.' ? kNobody : static_cast<MemberIndex>(letter - 'a');
    view.shards.push_back({.leader = leader});
  }
  return view;
}

// The leaders, in the same letters, once all claims are carried out.
std::string AfterClaims(AssignmentInput view) {
  CarryOut(Assign(view).claims, view);
  std::string leaders;
  for (const AssignmentShard& shard : view.shards) {
    leaders += shard.leader == kNobody ? "." : view.members[shard.leader].id;
  }
  return leaders;
}

// Moves as "shard:from>to", with a '!' for drains.
std::vector<std::string> Moves(const AssignmentInput& view, std::size_t limit = kNoLimit,
                               const std::vector<bool>& movable = {}) {
  std::vector<std::string> words;
  for (const PlannedMove& move : PlanMoves(view, movable, limit)) {
    words.push_back(std::to_string(move.shard.value) + ":" + view.members[move.from].id + ">" +
                    view.members[move.to].id + (move.reason == Reason::kDrain ? "!" : ""));
  }
  return words;
}

TEST(Assignment, CutsAColdStartIntoContiguousBlocksById) {
  EXPECT_EQ(AfterClaims(Led(Group({1, 1, 1}), "..........")), "aaaabbbccc");
}

TEST(Assignment, SharesByWeightWithTheLargestRemainders) {
  // 10 x 1/6, 2/6 and 3/6 are 1.67, 3.33 and 5: the one left over goes to a.
  const AssignmentInput view = Led(Group({1, 2, 3}), "..........");
  EXPECT_THAT(Assign(view).target, ElementsAre(2, 3, 5));
  EXPECT_EQ(AfterClaims(view), "aabbbccccc");
}

TEST(Assignment, GivesTheLeftoverToWhoeverHoldsItAlready) {
  // b holds one more than its floor: the first id's claim to the leftover would cost a move.
  const AssignmentInput view = Led(Group({1, 1}), "abb");
  EXPECT_THAT(Assign(view).target, ElementsAre(1, 2));
  EXPECT_THAT(Moves(view), IsEmpty());
}

TEST(Assignment, GivesALeftoverThatSeveralHoldToTheLowestId) {
  // 7 shards over 3: a and b both hold more than 2, however much more.
  EXPECT_THAT(Assign(Led(Group({1, 1, 1}), "aaabbbb")).target, ElementsAre(3, 2, 2));
}

TEST(Assignment, LeavesAllLeaderlessWithoutCandidates) {
  EXPECT_EQ(AfterClaims(Led(Group({}), "...")), "...");
  EXPECT_EQ(AfterClaims(Led(Group({0, 0}), ".a.")), ".a.");
  EXPECT_THAT(Moves(Led(Group({0, 0}), ".a.")), IsEmpty());
  EXPECT_EQ(AfterClaims(Led(Group({1}), "")), "");
}

TEST(Assignment, FallsBackToDrainingMembersAndThenMovesNothing) {
  AssignmentInput view = Led(Group({1, 1, 0}), "aaa.c");
  view.members[kA].draining = view.members[kB].draining = true;
  EXPECT_EQ(AfterClaims(view), "aaabc");
  EXPECT_THAT(Moves(view), IsEmpty());
}

TEST(Assignment, GivesNothingToDrainingAndWeightlessMembers) {
  AssignmentInput view = Led(Group({1, 1, 0}), "......");
  view.members[kA].draining = true;
  EXPECT_EQ(AfterClaims(view), "bbbbbb");
}

TEST(Assignment, FillsTheLeastLoadedWhenOthersStillHoldTooMuch) {
  // a drains four shards, so b, c and d have seven free seats for three vacancies.
  AssignmentInput view = Led(Group({1, 1, 1, 1}), "aaaab...");
  view.members[kA].draining = true;
  EXPECT_EQ(AfterClaims(view), "aaaabbcd");
}

TEST(Assignment, GivesARestartedNodeItsOwnShardsWithinItsSeats) {
  // b led the last four of six; with two members it has three seats.
  AssignmentInput view = Led(Group({1, 1}), "......");
  for (const std::uint32_t shard : {2, 3, 4, 5}) view.shards[shard].prefers = kB;
  EXPECT_EQ(AfterClaims(view), "aabbba");
}

TEST(Assignment, KeepsAResignedShardFromTheMemberWhoseCallbackHung) {
  // Blocks would be a, a, b, b: 0 and 2 avoid those members and change places with others.
  AssignmentInput view = Led(Group({1, 1}), "....");
  view.shards[0].avoids = kA;
  view.shards[2].avoids = kB;
  EXPECT_EQ(AfterClaims(view), "baab");
}

TEST(Assignment, KeepsARestartedNodesLeftoverFromMembersOfLowerId) {
  // 7 shards, 3 members: c led three and restarts. a must not get the third one in its place.
  AssignmentInput view = Led(Group({1, 1, 1}), "aabb...");
  for (const std::uint32_t shard : {4, 5, 6}) view.shards[shard].prefers = kC;
  EXPECT_EQ(AfterClaims(view), "aabbccc");
}

TEST(Assignment, ServesRestartedNodesBeforeItKeepsResignedShardsApart) {
  // c has one seat, and its own shard 1 to fill it; a's seat is all that is left for shard 0.
  AssignmentInput view = Led(Group({1, 0, 1}), "..");
  view.shards[0].avoids = kA;
  view.shards[1].prefers = kC;
  EXPECT_EQ(AfterClaims(view), "ac");
}

TEST(Assignment, GivesAResignedShardBackWhenNobodyElseHasASeat) {
  AssignmentInput alone = Led(Group({1}), ".");
  alone.shards[0].avoids = kA;
  EXPECT_EQ(AfterClaims(alone), "a");
  AssignmentInput full = Led(Group({1, 1}), ".abb");
  full.shards[0].avoids = kA;
  EXPECT_EQ(AfterClaims(full), "aabb");
}

TEST(Assignment, CountsALiveMoveForItsTarget) {
  AssignmentInput view = Led(Group({1, 1}), "aaa.");
  view.shards[0].moving_to = kB;
  EXPECT_THAT(Assign(view).held, ElementsAre(2, 1));
  EXPECT_EQ(AfterClaims(view), "aaab");
}

TEST(PlanMoves, MovesTheLowestNumbersToTheEmptiest) {
  EXPECT_THAT(Moves(Led(Group({1, 1, 1}), "aaaaab")), ElementsAre("0:a>c", "1:a>b", "2:a>c"));
}

TEST(PlanMoves, TakesDrainsFirst) {
  // d and e drain, a holds two too many; c is the emptiest until it has as much as b.
  AssignmentInput view = Led(Group({1, 1, 1, 1, 1}), "aaaaaabbbdee");
  view.members[3].draining = view.members[4].draining = true;
  EXPECT_THAT(Moves(view), ElementsAre("9:d>c!", "10:e>c!", "11:e>c!", "0:a>b", "1:a>c"));
  EXPECT_THAT(Moves(view, 2), ElementsAre("9:d>c!", "10:e>c!"));
  EXPECT_THAT(Moves(view, 0), IsEmpty());
}

TEST(PlanMoves, TakesFromDonorsInTurn) {
  AssignmentInput view = Led(Group({1, 1, 1}), "aaabbb");
  EXPECT_THAT(Moves(view), ElementsAre("0:a>c", "3:b>c"));
  view = Led(Group({1, 1, 1, 0}), "ddddbb");
  EXPECT_THAT(Moves(view), ElementsAre("0:d>a", "1:d>c", "2:d>a", "3:d>c"));
}

TEST(PlanMoves, LeavesMovingAndCoolingShardsAlone) {
  AssignmentInput view = Led(Group({1, 1}), "aaaaaa");
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

TEST(AssignmentDeathTest, RefusesBrokenPreconditions) {
  AssignmentInput twins = Led(Group({1, 1}), "..");
  twins.members[kB].id = "a";
  EXPECT_DEATH(Assign(twins), "adjacent_find");
  const AssignmentInput stranger = Led(Group({1, 1}), "..c");
  EXPECT_DEATH(Assign(stranger), "held.size");
  EXPECT_DEATH(PlanMoves(Led(Group({1}), "a"), {true, true}, 1), "movable");
}

// b is the first ready standby of shard 2, so it gets the shard, although a is below its target.
// The other vacancy is divided as if b held it already.
TEST(Assignment, AVacancyGoesToItsReadyStandby) {
  AssignmentInput view = Led(Group({1, 1, 1}), "bc..");
  view.shards[2].standby = kB;
  EXPECT_EQ(AfterClaims(view), "bcba");
  EXPECT_EQ(Assign(view).held[kB], 2u);
}

// Claims of standbys don't depend on each other, so after some of them the others are the same.
TEST(Assignment, StandbysGetTheirVacanciesWhateverTheirTargets) {
  AssignmentInput view = Led(Group({1, 1}), "....");
  for (AssignmentShard& shard : view.shards) shard.standby = kA;
  EXPECT_EQ(AfterClaims(view), "aaaa");
  view.shards[1].leader = kA;
  EXPECT_EQ(AfterClaims(view), "aaaa");
  CarryOut(Assign(view).claims, view);
  EXPECT_THAT(Moves(view), ElementsAre("0:a>b", "1:a>b"));
}

TEST(Assignment, AShardThatIsLedOrWaitsNeedsNoStandby) {
  AssignmentInput view = Led(Group({1, 1}), "aa..");
  view.shards[0].standby = kB;
  view.shards[2].standby = kB;
  view.shards[2].waits = true;
  EXPECT_EQ(AfterClaims(view), "aa.b");
}

}  // namespace
}  // namespace baton::core
