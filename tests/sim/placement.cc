// An operator changes the group's placement rules, in a part of the seeds. Calm takes them back, so
// that a group at rest is one without rules, or with rules that only ask for standbys. In some of
// these seeds one rule with labels is left until the group first rests, and its shards are where it
// wants them.
#include <utility>

#include "sim/simulation.h"

namespace baton::sim {
namespace {

constexpr Duration kWriteWithin = seconds(20);
constexpr int kUnderWritePerMille = 500;

}  // namespace

void Simulation::StartPlacement() {
  for (const PlacementChange& change : plan_.placement) {
    world_.After(change.at, [this, placement = change.placement] {
      if (calm_) return;
      if (!placement_random_.Chance(kUnderWritePerMille)) return WantPlacement(placement);
      placement_at_write_ = placement;
      world_.After(kWriteWithin, [this] { SetPlacementUnderWrite(); });
    });
  }
}

void Simulation::WantPlacement(const Placement& placement) {
  if (world_.verbose()) world_.Say(std::to_string(placement.size()) + " placement rules");
  placement_wanted_ = placement;
  BeginToSet();
}

// The claim or transfer was decided by the rules before.
void Simulation::SetPlacementUnderWrite() {
  if (!placement_at_write_ || calm_) return;
  WantPlacement(*std::exchange(placement_at_write_, std::nullopt));
}

bool Simulation::JudgePlacement() {
  if (plan_.placement_to_rest.empty()) return true;
  checkers_->CheckPlaced();
  WantPlacement(plan_.placement_in_calm);
  return RestWithAll();
}

}  // namespace baton::sim
