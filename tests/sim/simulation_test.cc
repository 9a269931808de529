// Simulated groups: a fixed set of seeds.
#include "sim/simulation.h"

#include <gtest/gtest.h>

#include "sim/quiet_log.h"
#include "sim/summary.h"

namespace baton::sim {
namespace {

constexpr std::uint64_t kFixedSeeds = 300;

void ExpectSound(const RunResult& result) {
  EXPECT_EQ(result.violations, std::vector<std::string>{})
      << "again: baton_sim --verbose --seed " << result.seed;
}

// Plan: the same seed twice, several times: the same events at the same virtual
// times.
TEST(Simulation, ASeedGivesTheSameTraceTwice) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const RunResult first = Simulation(seed).Run();
    const RunResult second = Simulation(seed).Run();
    EXPECT_EQ(first.trace_hash, second.trace_hash) << "seed " << seed;
    EXPECT_EQ(first.events, second.events) << "seed " << seed;
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

class Quiet : public ::testing::Environment {
 public:
  void SetUp() override { QuietLog(false); }
};
const ::testing::Environment* const kQuiet =
    ::testing::AddGlobalTestEnvironment(new Quiet);  // gtest owns it

}  // namespace
}  // namespace baton::sim
