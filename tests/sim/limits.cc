// An operator orders limits of planned moves, changes them and takes them back, in a part of the
// seeds. Calm deletes them with the other policies.
#include "sim/simulation.h"

namespace baton::sim {

void Simulation::StartLimits() {
  for (const LimitsOrder& order : plan_.limits) {
    world_.After(order.at, [this, limits = order.limits] { AskLimits(limits); });
  }
}

void Simulation::AskLimits(const LimitsChange& limits) {
  Process* process = calm_ ? nullptr : AnyRunning();
  if (process == nullptr) return;
  Strike(Fault::kOperatorAsked, *process);
  process->Ask(
      runtime::PolicyRequest{.verb = runtime::PolicyRequest::Verb::kSetLimits,
                             .node = {},
                             .limits = limits,
                             .actor = "operator's change " + std::to_string(++policies_asked_)});
}

}  // namespace baton::sim
