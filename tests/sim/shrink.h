// Shrinking: which of the faults of a seed's run does a violation need? It repeats the run with
// fewer and fewer of them, until none can be left out (or the number of runs is used up).
//
//   Shrunk shrunk = Shrink(seed, SameInvariant(result), 200);
//   std::fputs(Text(shrunk).c_str(), stdout);
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/simulation.h"

namespace baton::sim {

inline constexpr int kShrinkRuns = 200;

/// Delta debugging: the shortest list found for which `fails` is true, in order. Takes `fails(all)`
/// for true; calls `fails` at most `most` times.
struct Minimised {
  std::vector<FaultId> ids;
  int runs = 0;
  bool minimal = false;  ///< none of them can be left out
};
Minimised Minimise(std::vector<FaultId> all,
                   const std::function<bool(const std::vector<FaultId>&)>& fails, int most);

using Fails = std::function<bool(const RunResult&)>;
/// Whether the result's first violation is of the same invariant as this one's.
Fails SameInvariant(const RunResult& result);

struct Shrunk {
  std::uint64_t seed = 0;
  std::size_t before = 0;             ///< how many faults there were
  std::vector<InjectedFault> faults;  ///< what is left, in the order in which they happen
  RunResult result;                   ///< of the run with these alone
  int runs = 0;
  bool minimal = false;
};
/// REQUIRES: `fails` is true of the seed's whole run.
Shrunk Shrink(std::uint64_t seed, const Fails& fails, int most_runs);
std::string Text(const Shrunk& shrunk);

}  // namespace baton::sim
