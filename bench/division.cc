// Part (f): the pure functions that every node runs, at 100,000 shards and 1,000 nodes.
#include "core/division.h"

#include <cstdio>
#include <functional>
#include <stdexcept>

#include "bench/nodes.h"
#include "bench/parts.h"

namespace baton::bench {
namespace {

using core::DivisionInput;

constexpr std::uint32_t kShards = 100'000;
constexpr std::uint32_t kNodes = 1'000;

DivisionInput AllVacant() {
  DivisionInput input;
  for (std::uint32_t node = 0; node < kNodes; ++node) {
    char id[16];
    std::snprintf(id, sizeof id, "node%04u", node);
    input.members.push_back({.id = id});
  }
  input.shards.resize(kShards);
  return input;
}

DivisionInput AllLed() {
  DivisionInput input = AllVacant();
  for (const core::PlannedClaim& claim : core::Divide(input).claims) {
    input.shards[claim.shard.value].leader = claim.to;
  }
  return input;
}

// The last member is gone: its shards are vacant.
DivisionInput OneDied() {
  DivisionInput input = AllLed();
  const auto last = static_cast<core::MemberIndex>(input.members.size() - 1);
  input.members.pop_back();
  for (core::DivisionShard& shard : input.shards) {
    if (shard.leader == last) shard.leader = core::kNobody;
  }
  return input;
}

DivisionInput OneJoined() {
  DivisionInput input = AllLed();
  input.members.push_back({.id = "newcomer"});
  return input;
}

DivisionInput OneDrains() {
  DivisionInput input = AllLed();
  input.members.front().draining = true;
  return input;
}

double TimesMilliseconds(const std::function<std::size_t()>& run, std::size_t expected) {
  const TimePoint begun = BootClock::now();
  const std::size_t found = run();
  const Duration took = BootClock::now() - begun;
  if (found != expected) throw std::runtime_error("the division is not what was expected");
  return Milliseconds(took);
}

struct Case {
  const char* what;
  DivisionInput input;
  bool plans;  ///< true: PlanMoves; false: Divide
  std::size_t expected;
};

}  // namespace

void MeasureDivision(const Settings& settings, Report& report) {
  const std::size_t part = kShards / kNodes;
  const Case cases[] = {
      {"Divide, all vacant", AllVacant(), false, kShards},
      {"Divide, one of the nodes died", OneDied(), false, part},
      {"Divide, nothing vacant", AllLed(), false, 0},
      {"PlanMoves, one more node", OneJoined(), true, kShards / (kNodes + 1)},
      {"PlanMoves, one node drains", OneDrains(), true, part},
      {"PlanMoves, balanced", AllLed(), true, 0},
  };
  for (const Case& each : cases) {
    const auto run = [&each] {
      return each.plans ? core::PlanMoves(each.input, {}, kShards).size()
                        : core::Divide(each.input).claims.size();
    };
    Series took;
    for (int i = 0; i < settings.repeat; ++i) took.Add(TimesMilliseconds(run, each.expected));
    report.Add(
        {"f", each.what, "ms", took, Grouped(kShards) + " shards, " + Grouped(kNodes) + " nodes"});
  }
}

}  // namespace baton::bench
