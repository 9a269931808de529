#include "sim/shrink.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>

namespace baton::sim {
namespace {

using Ids = std::vector<FaultId>;

// The list without the faults of the stretch that begins at `first`.
Ids Without(const Ids& ids, std::size_t first, std::size_t count) {
  Ids left = ids;
  const auto begin = left.begin() + static_cast<std::ptrdiff_t>(first);
  const auto most = static_cast<std::size_t>(left.end() - begin);
  left.erase(begin, begin + static_cast<std::ptrdiff_t>(std::min(count, most)));
  return left;
}

std::string InvariantOf(const RunResult& result) {
  if (result.violations.empty()) return {};
  return result.violations.front().substr(0, result.violations.front().find(' '));
}

RunResult RunWith(std::uint64_t seed, const Ids& ids, bool keep_records) {
  return Simulation(RunOptions{.seed = seed, .keep_records = keep_records, .only = ids}).Run();
}

// Narrows a list down, as long as it may still run it.
class Search {
 public:
  Search(Ids all, const std::function<bool(const Ids&)>& fails, int most)
      : found_{.ids = std::move(all)}, fails_(fails), most_(most) {}

  /// Leaves out all of one kind at once.
  void LeaveOutKinds() {
    std::set<std::pair<bool, std::uint32_t>> kinds;
    const auto kind_of = [](const FaultId& id) { return std::pair(id.source == 0, id.kind); };
    for (const FaultId& id : found_.ids) kinds.insert(kind_of(id));
    for (const auto& kind : kinds) {
      Ids left = found_.ids;
      std::erase_if(left, [&](const FaultId& id) { return kind_of(id) == kind; });
      Try(std::move(left));
    }
  }
  /// Leaves out shorter and shorter stretches; in the end single faults, until a pass leaves
  /// nothing out.
  void LeaveOutStretches() {
    std::size_t count = std::max<std::size_t>(found_.ids.size() / 2, 1);
    std::size_t before = 0;
    do {
      before = found_.ids.size();
      for (std::size_t first = 0; first < found_.ids.size() && !spent();) {
        if (!Try(Without(found_.ids, first, count))) first += count;
      }
      found_.minimal = count == 1 && found_.ids.size() == before && !spent();
      count = std::max<std::size_t>(count / 2, 1);
    } while (!found_.minimal && !spent());
  }
  Minimised found() && { return std::move(found_); }

 private:
  bool spent() const { return found_.runs == most_; }
  bool Try(Ids left) {
    if (spent()) return false;
    ++found_.runs;
    if (!fails_(left)) return false;
    found_.ids = std::move(left);
    return true;
  }

  Minimised found_;
  const std::function<bool(const Ids&)>& fails_;
  const int most_;
};

}  // namespace

Minimised Minimise(Ids all, const std::function<bool(const Ids&)>& fails, int most) {
  Search search(std::move(all), fails, most);
  search.LeaveOutKinds();
  search.LeaveOutStretches();
  return std::move(search).found();
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
  // Mishaps first, so that they make halves of their own.
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
