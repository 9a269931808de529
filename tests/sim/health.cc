// Applications that are not well: one is not healthy for a while, so its node must give away what
// it leads, and stay; or it gives no sign of life, so its node must lead nothing from then on. Both
// come again afterwards. Drawn apart from the other mishaps, in a part of the seeds.
#include "sim/simulation.h"

namespace baton::sim {
namespace {

constexpr int kUnwellMost = 20'000;  // milliseconds
constexpr int kPauseMost = 15'000;   // milliseconds, between two troubles

}  // namespace

void Simulation::StartHealthTroubles() {
  if (plan_.health) TroubleHealth();
}

void Simulation::TroubleHealth() {
  const Duration pause = milliseconds(health_random_.Between(0, kPauseMost));
  world_.After(pause, [this] {
    if (calm_ || world_.stopped()) return;
    Machine& machine = machines_[health_random_.Below(machines_.size())];
    const bool silent = health_random_.Chance(500);
    const Duration length = milliseconds(health_random_.Between(0, kUnwellMost));
    if (Process* process = ProcessOf(machine)) {
      if (silent) {
        process->SetSilent(true);
      } else {
        process->SetHealthy(false);
      }
      world_.After(length, [process] { BeWell(*process); });
    }
    TroubleHealth();
  });
}

// At rest: a node that is not healthy gives all that it leads to the others, and keeps its session.
void Simulation::CheckUnhealthy() {
  if (!plan_.health || world_.stopped() || machines_.size() < 2) return;
  if (!RestWithAll() || checkers_->SomeNodeFails())
    return;  // nobody else may be able to take the shards
  Process* process = ProcessOf(machines_[health_random_.Below(machines_.size())]);
  if (process == nullptr) return;
  const SessionId session = process->session();
  process->SetHealthy(false);
  const auto gave = [&] { return process->core().leaderships().held().empty(); };
  Disturb(kRestBound);
  if (!Until(gave, kRestBound) && !world_.stopped()) {
    checkers_->Violation("I11", process->node() + " is not healthy, and keeps its shards");
  }
  if (process->session() != session) {
    checkers_->Violation("I11", process->node() + " was not healthy, and lost its session");
  }
  process->SetHealthy(true);
  if (RestWithAll()) checkers_->CheckRest();
}

void Simulation::BeWell(Process& process) {
  if (!process.alive()) return;
  process.SetHealthy(true);
  process.SetSilent(false);
}

}  // namespace baton::sim
