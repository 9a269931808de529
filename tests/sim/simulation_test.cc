// Simulated groups: a fixed set of seeds, and fresh ones.
#include "sim/simulation.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "sim/shrink.h"
#include "sim/summary.h"

namespace baton::sim {
namespace {

constexpr std::uint64_t kFixedSeeds = 300;
constexpr std::chrono::seconds kFreshTime{20};
constexpr int kRunsWithStalls = 20;

void ExpectSound(const RunResult& result) {
  if (result.violations.empty()) return;
  ADD_FAILURE() << ::testing::PrintToString(result.violations) << "\nagain: tests/sim/run --seed "
                << result.seed << " --verbose\n"
                << Text(Shrink(result.seed, SameInvariant(result), kShrinkRuns));
}

// Plan: the same seed twice, several times: the same events at the same virtual times.
TEST(Simulation, ASeedGivesTheSameTraceTwice) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const RunResult first = Simulation(seed).Run();
    const RunResult second = Simulation(seed).Run();
    EXPECT_EQ(first.trace_hash, second.trace_hash) << "seed " << seed;
    EXPECT_EQ(first.events, second.events) << "seed " << seed;
  }
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const RunOptions storms{.seed = seed, .storms = true};
    EXPECT_EQ(Simulation(storms).Run().trace_hash, Simulation(storms).Run().trace_hash)
        << "seed " << seed << " with storms";
  }
}

TEST(Simulation, EveryInstantIsSafeAndCalmBringsRest) {
  Summary summary;
  for (std::uint64_t seed = 1; seed <= kFixedSeeds && !HasFailure(); ++seed) {
    const RunResult result = Simulation(seed).Run();
    summary.Add(result);
    ExpectSound(result);
  }
  EXPECT_TRUE(summary.good()) << summary.Text();
}

bool Stalls(std::uint64_t seed) { return DrawPlan(seed).stall_gap_most > Duration{}; }

// Plan: a quarter of the large seeds draw stalls of etcd's commits. The small ones draw none: they
// are the mutants' and the corpus'.
TEST(Simulation, LargeSeedsDrawStallsOfCommits) {
  int large = 0;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    EXPECT_FALSE(Stalls(i)) << i;
    EXPECT_FALSE(Stalls(kFirstSeedWithStalls - 1 - i)) << i;
    large += Stalls(kFirstSeedWithStalls + i) ? 1 : 0;
  }
  EXPECT_GT(large, 400);
  EXPECT_LT(large, 600);
}

// Plan: the first of these. Stalls meet writes in nearly all of them. Such a run is the same again
// if all its faults are allowed.
TEST(Simulation, StallsOfCommitsAreSafeToo) {
  int runs = 0;
  int met = 0;
  for (std::uint64_t seed = kFirstSeedWithStalls; runs < kRunsWithStalls; ++seed) {
    if (!Stalls(seed)) continue;
    const RunResult result = Simulation(RunOptions{.seed = seed, .keep_records = true}).Run();
    ExpectSound(result);
    met += result.faults[static_cast<std::size_t>(Fault::kCommitStalled)] > 0 ? 1 : 0;
    if (runs++ >= 2) continue;
    std::vector<FaultId> all;
    for (const InjectedFault& fault : result.injected) all.push_back(fault.id);
    EXPECT_EQ(Simulation(RunOptions{.seed = seed, .only = all}).Run().trace_hash, result.trace_hash)
        << seed;
  }
  EXPECT_GE(met, kRunsWithStalls * 3 / 4);
}

// Plan: leaders died under a rule that prefers nodes, again and again, and nothing of it was
// judged. Once some were judged, the runs count.
TEST(Simulation, RunsDoNotCountIfARuleAboutStandbysWasNeverJudged) {
  constexpr auto kPrefer = static_cast<std::size_t>(HeirRule::kPrefer);
  RunResult result;
  result.observed.heir_deaths[kPrefer] = 10;
  result.observed.groups_with_standbys = 10;
  Summary summary;
  for (int run = 0; run < 5; ++run) {
    EXPECT_TRUE(summary.Shortfalls().empty());
    summary.Add(result);
  }
  EXPECT_FALSE(summary.good());
  EXPECT_EQ(
      summary.Shortfalls(),
      (std::vector<std::string>{"no claim in a group with standbys was judged",
                                "no heir of a rule of the kind prefer was judged",
                                "no node that could hold too much after a death was judged"}));
  result.observed.heirs_judged[kPrefer] = 2;
  result.observed.claims_judged = result.observed.held_judged = 2;
  summary.Add(result);
  EXPECT_TRUE(summary.good());
}

// Plan: seeds that nobody has run before, as many as fit the time.
TEST(Simulation, FreshSeedsAreSafeToo) {
  std::random_device device;
  const std::uint64_t from = (std::uint64_t{device()} << 32) | device();
  std::printf("fresh seeds from %llu\n", static_cast<unsigned long long>(from));
  const auto end = std::chrono::steady_clock::now() + kFreshTime;
  Summary summary;
  for (std::uint64_t i = 0; std::chrono::steady_clock::now() < end && !HasFailure(); ++i) {
    const RunResult result = Simulation(from + i).Run();
    summary.Add(result);
    ExpectSound(result);
  }
  std::fputs(summary.Text().c_str(), stdout);
  EXPECT_TRUE(summary.good());
}

}  // namespace
}  // namespace baton::sim
