// Dice: the chances of a run's faults, each drawn by itself.
//
// The draw for the n-th exchange of a kind depends on the seed, the source, the kind and n
// alone: not on what was drawn before, and not on whether other faults happened. So a run can be
// repeated with some of its faults left out (injection.h), and the others stay as they were.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "sim/faults.h"
#include "sim/world.h"

namespace baton::sim {

/// The source of the application's faults: they belong to no exchange.
inline constexpr Phase kCallbackPhase = Phase::kIdle;

class Dice {
 public:
  /// `source`: a machine, or a process that exists only once; unique in the run.
  Dice(World& world, std::uint64_t seed, std::uint32_t source)
      : world_(world), seed_(Mixed(seed, source)), source_(source) {}
  Dice(const Dice&) = delete;
  Dice& operator=(const Dice&) = delete;

  /// The source's number in FaultIds.
  static std::uint32_t KindOf(Fault fault, Phase phase) {
    return static_cast<std::uint32_t>(static_cast<std::size_t>(fault) * kPhaseCount +
                                      static_cast<std::size_t>(phase));
  }

  /// Whether this exchange is struck, so many times in a thousand.
  bool Strikes(Fault fault, Phase phase, int per_mille) {
    return StrikesFor(fault, phase, per_mille, Duration{0}).has_value();
  }
  /// The same, and for how long: at most `most`.
  std::optional<Duration> StrikesFor(Fault fault, Phase phase, int per_mille, Duration most) {
    if (per_mille <= 0 && !world_.injection().forces()) return std::nullopt;
    const std::uint32_t kind = KindOf(fault, phase);
    const std::uint32_t number = ++numbers_[kind];
    Random random(Mixed(seed_, (std::uint64_t{kind} << 32) | number));
    const auto share = world_.injection().Forced({source_, kind, number});
    if (!random.Chance(per_mille) && !share) return std::nullopt;
    const Duration length =
        share ? most * *share / kForcedShares : random.Between(Duration{0}, most);
    if (!world_.injection().Allows({source_, kind, number})) return std::nullopt;
    if (world_.injection().records()) Record(fault, phase, {source_, kind, number});
    return length;
  }

 private:
  void Record(Fault fault, Phase phase, const FaultId& id) {
    world_.injection().Record(id, world_.now(),
                              std::string(ToString(fault)) + " of machine " +
                                  std::to_string(source_) + ", " + ToString(phase));
  }

  World& world_;
  const std::uint64_t seed_;
  const std::uint32_t source_;
  std::array<std::uint32_t, kFaultCount * kPhaseCount> numbers_{};
};

}  // namespace baton::sim
