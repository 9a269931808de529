// Standbys at rest: the applications stand by for what the rules ask for, and their nodes say so.
// If a leader dies, its shards go to ready standbys, and planned moves spread them evenly again.
#include "sim/simulation.h"

namespace baton::sim {
namespace {

// A shard is loaded by then, and its node has said so.
constexpr Duration kSettlesWithin = StandbyApplication::kLoadsMost + seconds(7);

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

}  // namespace baton::sim
