// Standbys at rest: the applications stand by for what the rules ask for, and their nodes say so.
// If a leader dies, its shards go to ready standbys, and planned moves spread them evenly again.
#include <algorithm>
#include <utility>

#include "sim/simulation.h"

namespace baton::sim {
namespace {

// A shard is loaded by then, and its node has said so.
constexpr Duration kSettlesWithin = StandbyApplication::kLoadsMost + seconds(7);
constexpr std::uint64_t kHeirs = 0x6865697273ull << 8;  // a part of the seed
constexpr std::size_t kFewestMachines = 3;

}  // namespace

void Simulation::SettleStandbys() {
  if (!plan_.standbys || world_.stopped()) return;
  std::string unsettled;
  const auto settled = [&] { return (unsettled = checkers_->StandbysUnsettled()).empty(); };
  if (Until(settled, kSettlesWithin) || world_.stopped()) return;
  checkers_->Violation("I14", "at rest " + unsettled);
}

void Simulation::CheckDeathAmongStandbys(Machine& machine) {
  SettleStandbys();
  if (ProcessOf(machine) == nullptr || world_.stopped()) return;
  const std::map<NodeId, std::size_t> most = checkers_->MostHeldAfter(machine.node);
  const bool at_once = DieAndBeSucceeded(machine);
  if (at_once && !world_.stopped()) checkers_->CheckHeld(most);
  if (!RunUntilRest(kRestBound)) return;
  SettleStandbys();
  checkers_->CheckRest();
}

// Of 3 zones, the second one comes first: most groups have nodes in it.
PlacementRule Simulation::DrawHeirRule(HeirRule kind) {
  PlacementRule rule;
  rule.standbys = static_cast<std::uint32_t>(random_.Between(1, 3));
  const auto zone = [](int number) -> LabelTerms {
    return {{std::string(kZoneLabel), {ZoneOf(number)}}};
  };
  const bool apart = kind == HeirRule::kSpread || kind == HeirRule::kSpreadAndPrefer;
  if (apart) rule.spread = kZoneLabel;
  if (kind == HeirRule::kPrefer || kind == HeirRule::kSpreadAndPrefer) {
    rule.prefer = {zone(2), zone(random_.Chance(500) ? 1 : 3)};
  }
  if (kind == HeirRule::kRequire) {
    rule.require = {{std::string(kZoneLabel), {ZoneOf(1), ZoneOf(2)}}};
  }
  return rule;
}

// At rest, a rule of one kind for all shards; then the node dies that leads most. Each of its
// shards goes to the first of its ready standbys.
void Simulation::CheckHeirs() {
  if (!plan_.standbys || world_.stopped() || machines_.size() < kFewestMachines) return;
  const Random kept = std::exchange(random_, Random(Mixed(plan_.seed, kHeirs)));
  const HeirRule kind = HeirRule(random_.Below(kHeirRules));
  WantPlacement({DrawHeirRule(kind)});
  if (RestWithAll()) {
    SettleStandbys();
    const auto leads = [&](Machine& machine) {
      const Process* const process = ProcessOf(machine);
      return process != nullptr ? checkers_->LeadsOf(*process) : 0;
    };
    Machine& machine =
        *std::max_element(machines_.begin(), machines_.end(),
                          [&](Machine& a, Machine& b) { return leads(a) < leads(b); });
    if (leads(machine) > 0 && !world_.stopped() && !checkers_->SomeNodeFails()) {
      const std::map<NodeId, std::size_t> most = checkers_->MostHeldAfter(machine.node);
      checkers_->ExpectHeirs(machine.node, kind);
      const bool at_once = DieAndBeSucceeded(machine);
      if (at_once && !world_.stopped()) checkers_->CheckHeld(most);
      if (!world_.stopped()) checkers_->JudgeHeirs(at_once);
    }
  }
  WantPlacement(plan_.placement_in_calm);
  if (RestWithAll()) SettleStandbys();
  random_ = kept;
}

}  // namespace baton::sim
