#include "sim/shrink.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace baton::sim {
namespace {

using Ids = std::vector<FaultId>;

// The list without its part-th of `parts` parts.
Ids Without(const Ids& ids, std::size_t part, std::size_t parts) {
  Ids left;
  const std::size_t begin = ids.size() * part / parts;
  const std::size_t end = ids.size() * (part + 1) / parts;
  left.insert(left.end(), ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(begin));
  left.insert(left.end(), ids.begin() + static_cast<std::ptrdiff_t>(end), ids.end());
  return left;
}

std::string InvariantOf(const RunResult& result) {
  if (result.violations.empty()) return {};
  return result.violations.front().substr(0, result.violations.front().find(' '));
}

RunResult RunWith(std::uint64_t seed, const Ids& ids, bool keep_records) {
  return Simulation(RunOptions{.seed = seed, .keep_records = keep_records, .only = ids}).Run();
}

}  // namespace

Minimised Minimise(Ids all, const std::function<bool(const Ids&)>& fails, int most) {
  Minimised found{.ids = std::move(all)};
  std::size_t parts = 2;
  while (!found.ids.empty()) {
    parts = std::min(parts, found.ids.size());
    bool smaller = false;
    for (std::size_t part = 0; part < parts && !smaller; ++part) {
      if (found.runs == most) return found;
      ++found.runs;
      Ids left = Without(found.ids, part, parts);
      if (!fails(left)) continue;
      found.ids = std::move(left);
      parts = std::max<std::size_t>(parts - 1, 2);
      smaller = true;
    }
    if (smaller) continue;
    if (parts >= found.ids.size()) break;
    parts *= 2;
  }
  found.minimal = true;
  return found;
}

Fails SameInvariant(const RunResult& result) {
  return [invariant = InvariantOf(result)](const RunResult& other) {
    return InvariantOf(other) == invariant;
  };
}

Shrunk Shrink(std::uint64_t seed, const Fails& fails, int most_runs) {
  Shrunk shrunk;
  shrunk.seed = seed;
  Ids all;
  const RunResult whole = Simulation(RunOptions{.seed = seed, .keep_records = true}).Run();
  for (const InjectedFault& fault : whole.injected) all.push_back(fault.id);
  shrunk.before = all.size();
  // Mishaps first: halves of their own.
  std::stable_sort(all.begin(), all.end(),
                   [](const FaultId& a, const FaultId& b) { return a.source < b.source; });
  const Minimised found = Minimise(
      std::move(all), [&](const Ids& ids) { return fails(RunWith(seed, ids, false)); }, most_runs);
  shrunk.runs = found.runs;
  shrunk.minimal = found.minimal;
  shrunk.result = RunWith(seed, found.ids, true);
  shrunk.faults = shrunk.result.injected;
  return shrunk;
}

std::string Text(const Shrunk& shrunk) {
  std::string text = "seed " + std::to_string(shrunk.seed) + ", " + std::to_string(shrunk.before) +
                     " faults, of which these " + std::to_string(shrunk.faults.size()) +
                     (shrunk.minimal ? " are needed" : " are enough") + " (" +
                     std::to_string(shrunk.runs) + " runs):\n";
  for (const InjectedFault& fault : shrunk.faults) {
    const auto millis = fault.at.time_since_epoch() / milliseconds(1);
    char at[32];
    std::snprintf(at, sizeof at, "  %9lld ms  ", static_cast<long long>(millis));
    text += at + fault.what + "\n";
  }
  if (!shrunk.result.violations.empty()) text += "  then " + shrunk.result.violations[0] + "\n";
  return text;
}

}  // namespace baton::sim
