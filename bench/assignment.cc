// Part (f): the pure functions that every node runs, at 100,000 shards and 1,000 nodes.
#include "core/assignment.h"

#include <cstdio>
#include <functional>
#include <stdexcept>

#include "bench/nodes.h"
#include "bench/parts.h"

namespace baton::bench {
namespace {

using core::AssignmentInput;

constexpr std::uint32_t kShards = 100'000;
constexpr std::uint32_t kNodes = 1'000;

AssignmentInput AllVacant() {
  AssignmentInput input;
  for (std::uint32_t node = 0; node < kNodes; ++node) {
    char id[16];
    std::snprintf(id, sizeof id, "node%04u", node);
    input.members.push_back({.id = id});
  }
  input.shards.resize(kShards);
  return input;
}

AssignmentInput AllLed() {
  AssignmentInput input = AllVacant();
  for (const core::PlannedClaim& claim : core::Assign(input).claims) {
    input.shards[claim.shard.value].leader = claim.to;
  }
  return input;
}

// The last member is gone: its shards are vacant.
AssignmentInput OneDied() {
  AssignmentInput input = AllLed();
  const auto last = static_cast<core::MemberIndex>(input.members.size() - 1);
  input.members.pop_back();
  for (core::AssignmentShard& shard : input.shards) {
    if (shard.leader == last) shard.leader = core::kNobody;
  }
  return input;
}

AssignmentInput OneJoined() {
  AssignmentInput input = AllLed();
  input.members.push_back({.id = "newcomer"});
  return input;
}

AssignmentInput OneDrains() {
  AssignmentInput input = AllLed();
  input.members.front().draining = true;
  return input;
}

double TimesMilliseconds(const std::function<std::size_t()>& run, std::size_t expected) {
  const TimePoint begun = BootClock::now();
  const std::size_t found = run();
  const Duration took = BootClock::now() - begun;
  if (found != expected) throw std::runtime_error("the assignment is not what was expected");
  return Milliseconds(took);
}

struct Case {
  const char* what;
  AssignmentInput input;
  bool plans;  ///< true: PlanMoves; false: Assign
  std::size_t expected;
};

}  // namespace

void MeasureAssignment(const Settings& settings, Report& report) {
  const std::size_t part = kShards / kNodes;
  const Case cases[] = {
      {"Assign, all vacant", AllVacant(), false, kShards},
      {"Assign, one of the nodes died", OneDied(), false, part},
      {"Assign, nothing vacant", AllLed(), false, 0},
      {"PlanMoves, one more node", OneJoined(), true, kShards / (kNodes + 1)},
      {"PlanMoves, one node drains", OneDrains(), true, part},
      {"PlanMoves, balanced", AllLed(), true, 0},
  };
  for (const Case& each : cases) {
    const auto run = [&each] {
      return each.plans ? core::PlanMoves(each.input, {}, kShards).size()
                        : core::Assign(each.input).claims.size();
    };
    Series took;
    for (int i = 0; i < settings.repeat; ++i) took.Add(TimesMilliseconds(run, each.expected));
    report.Add(
        {"f", each.what, "ms", took, Grouped(kShards) + " shards, " + Grouped(kNodes) + " nodes"});
  }
}

}  // namespace baton::bench
