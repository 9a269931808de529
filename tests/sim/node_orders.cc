// An operator changes weights and labels of running nodes, in a part of the seeds with placement
// rules. The nodes' own options change with them, so a process that starts later has the same.
// Calm carries out all orders once more, in their order: what is left is what the last ones say.
#include "base/check.h"
#include "sim/simulation.h"

namespace baton::sim {

void Simulation::StartNodeOrders() {
  for (const NodeOrder& order : plan_.node_orders) {
    world_.After(order.at, [this, &order] {
      if (!calm_) CarryOut(order);
    });
  }
}

void Simulation::CarryOut(const NodeOrder& order) {
  Machine& machine = machines_[order.machine];
  const auto after = SettingsAfter(machine.settings, order.change);
  BATON_CHECK(after.ok());
  machine.settings = *after;
  Process* process = ProcessOf(machine);
  if (process == nullptr) return;
  Strike(Fault::kOperatorAsked, *process);
  process->Ask(runtime::NodeChangeRequest{
      .node = machine.node, .change = order.change, .actor = "operator"});
}

}  // namespace baton::sim
