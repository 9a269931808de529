// The faults' own machinery: the table, dice, leaving faults out of a run, and shrinking.
#include "sim/faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/shrink.h"
#include "sim/summary.h"

namespace baton::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<FaultId> Ids(std::uint32_t count) {
  std::vector<FaultId> ids;
  for (std::uint32_t i = 0; i < count; ++i) ids.push_back({.source = 0, .kind = 0, .number = i});
  return ids;
}

bool Names(const std::vector<FaultId>& ids, std::uint32_t number) {
  return std::any_of(ids.begin(), ids.end(),
                     [&](const FaultId& id) { return id.number == number; });
}

std::vector<FaultId> IdsOf(const RunResult& result) {
  std::vector<FaultId> ids;
  for (const InjectedFault& fault : result.injected) ids.push_back(fault.id);
  return ids;
}

// ---- the table ----

TEST(FaultTable, CountsAFaultOnceInEachPhaseThatItStruck) {
  World world(1, false);
  world.Hit(Fault::kPause, Phases{Phase::kClaiming, Phase::kRenewing});
  world.Hit(Fault::kPause, Phase::kClaiming);
  EXPECT_EQ(world.fault_total(), 2u);
  EXPECT_EQ(world.fault_table().At(Fault::kPause, Phase::kClaiming), 2u);
  EXPECT_EQ(world.fault_table().At(Fault::kPause, Phase::kRenewing), 1u);
  EXPECT_EQ(world.fault_table().At(Fault::kPause, Phase::kIdle), 0u);
}

TEST(FaultTable, WhatStrikesNothingThatLivesDoesNotCount) {
  World world(1, false);
  world.Hit(Fault::kKill, Phases{});
  world.HitEverybody(Fault::kCompaction);
  EXPECT_EQ(world.fault_total(), 0u);
}

TEST(FaultTable, AnImpossibleCellThatIsHitIsAnError) {
  FaultTable table;
  EXPECT_THAT(HitThoughImpossible(table), IsEmpty());
  table.Add(Fault::kRequestTwice, Phase::kReading);
  EXPECT_THAT(HitThoughImpossible(table),
              ElementsAre(::testing::StartsWith("request_twice x reading was hit, but: ")));
}

TEST(FaultTable, ACellThatCanOccurMustBeHitOftenEnough) {
  FaultTable table;
  const std::size_t possible = HitTooSeldom(table, 2).size();
  table.Add(Fault::kPause, Phase::kClaiming);
  EXPECT_EQ(HitTooSeldom(table, 2).size(), possible);
  table.Add(Fault::kPause, Phase::kClaiming);
  EXPECT_EQ(HitTooSeldom(table, 2).size(), possible - 1);
}

TEST(Summary, TooSmallMediansAreNoEvidence) {
  Summary summary;
  RunResult small;
  small.nodes = 2;
  small.shards = 24;
  small.virtual_time = seconds(60);
  small.observed.leader_changes = 3;
  for (int run = 0; run < 50; ++run) summary.Add(small);
  EXPECT_THAT(summary.Shortfalls(), ElementsAre("the median run has 2 nodes, fewer than 4"));
  EXPECT_FALSE(summary.good());
}

// ---- dice ----

std::vector<bool> Rolls(Dice& dice, int count) {
  std::vector<bool> rolls;
  for (int i = 0; i < count; ++i) {
    rolls.push_back(dice.Strikes(Fault::kRequestLost, Phase::kClaiming, 300));
  }
  return rolls;
}

TEST(Dice, WhatOneKindOfExchangeDrawsDoesNotShiftAnother) {
  World world(1, false);
  Dice alone(world, 7, 1);
  const std::vector<bool> expected = Rolls(alone, 50);
  Dice mixed(world, 7, 1);
  for (int i = 0; i < 17; ++i) mixed.Strikes(Fault::kRequestLost, Phase::kReading, 300);
  EXPECT_EQ(Rolls(mixed, 50), expected);
}

TEST(Dice, LeavingOneFaultOutShiftsNoOther) {
  World whole(1, false);
  whole.injection().KeepRecords();
  Dice dice(whole, 7, 1);
  std::vector<bool> expected = Rolls(dice, 50);
  const auto& recorded = whole.injection().recorded();
  ASSERT_GT(recorded.size(), 2u);

  World fewer(1, false);
  std::vector<FaultId> kept;
  for (const InjectedFault& fault : recorded) kept.push_back(fault.id);
  const FaultId left_out = kept.front();
  kept.erase(kept.begin());
  fewer.injection().AllowOnly(kept);
  Dice again(fewer, 7, 1);
  expected[left_out.number - 1] = false;
  EXPECT_EQ(Rolls(again, 50), expected);
}

// ---- whole runs with fewer faults ----

TEST(Injection, ARunWithAllItsFaultsIsTheSameRun) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const RunResult whole = Simulation(RunOptions{.seed = seed, .keep_records = true}).Run();
    const RunResult again = Simulation(RunOptions{.seed = seed, .only = IdsOf(whole)}).Run();
    EXPECT_EQ(again.trace_hash, whole.trace_hash) << "seed " << seed;
  }
}

// Plan: without the second mishap the others come at the same times.
TEST(Injection, AMishapLeftOutShiftsNoOther) {
  const RunResult whole = Simulation(RunOptions{.seed = 3, .keep_records = true}).Run();
  std::vector<std::pair<FaultId, TimePoint>> expected;
  for (const InjectedFault& fault : whole.injected) {
    if (fault.id.source == 0) expected.emplace_back(fault.id, fault.at);
  }
  ASSERT_GT(expected.size(), 3u);
  expected.erase(expected.begin() + 1);
  std::vector<FaultId> kept;
  for (const auto& [id, at] : expected) kept.push_back(id);
  const RunResult fewer =
      Simulation(RunOptions{.seed = 3, .keep_records = true, .only = kept}).Run();
  std::vector<std::pair<FaultId, TimePoint>> left;
  for (const InjectedFault& fault : fewer.injected) left.emplace_back(fault.id, fault.at);
  EXPECT_EQ(left, expected);
}

// ---- shrinking ----

TEST(Shrink, FindsTheOneFaultThatIsNeeded) {
  const auto found = Minimise(
      Ids(100), [](const auto& ids) { return Names(ids, 41); }, 200);
  EXPECT_EQ(found.ids, (std::vector<FaultId>{{.source = 0, .kind = 0, .number = 41}}));
  EXPECT_TRUE(found.minimal);
}

TEST(Shrink, FindsTwoThatAreNeededTogether) {
  const auto found = Minimise(
      Ids(64), [](const auto& ids) { return Names(ids, 3) && Names(ids, 60); }, 200);
  EXPECT_EQ(found.ids.size(), 2u);
  EXPECT_TRUE(Names(found.ids, 3) && Names(found.ids, 60));
}

TEST(Shrink, LeavesNothingWhereNothingIsNeeded) {
  EXPECT_THAT(Minimise(
                  Ids(10), [](const auto&) { return true; }, 200)
                  .ids,
              IsEmpty());
}

TEST(Shrink, StopsAfterTheRunsItMayUse) {
  const auto found = Minimise(
      Ids(100), [](const auto& ids) { return ids.size() == 100; }, 7);
  EXPECT_EQ(found.runs, 7);
  EXPECT_FALSE(found.minimal);
  EXPECT_EQ(found.ids.size(), 100u);
}

// Plan: a run fails if it has a certain kill; shrinking leaves only that kill of a whole run's
// faults.
TEST(Shrink, OfARunLeavesWhatItsEndNeeds) {
  const auto killed = [](const RunResult& result) {
    return result.faults[static_cast<std::size_t>(Fault::kKill)] > 0;
  };
  std::uint64_t seed = 1;
  while (seed < 100 && !killed(Simulation(seed).Run())) ++seed;
  const Shrunk shrunk = Shrink(seed, killed, kShrinkRuns);
  ASSERT_EQ(shrunk.faults.size(), 1u) << Text(shrunk);
  EXPECT_THAT(shrunk.faults[0].what, ::testing::StartsWith("mishap: kill, n"));
  EXPECT_GT(shrunk.before, 1u);
}

}  // namespace
}  // namespace baton::sim
