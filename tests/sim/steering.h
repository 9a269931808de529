// Steering: a run decided by bytes as far as they reach; the rest the seed draws.
//
//   the first 8 bytes   the seed, least significant first: sizes, personality, latencies, and all
//   that is
//                       not named below; missing bytes are 0
//   then in fours       gap, mishap, 2 bytes of its random numbers: that mishap, so long after the
//   one
//                       before; where the first byte is below 192
//                       where, fault, phase, which: the which-th exchange of a machine in that
//                       phase is struck; where it is 192 or more
//   a shorter rest      says nothing
//
// One changed byte changes one mishap or one exchange, and what follows from it. When the mishaps
// named are over, the seed draws more, as in every run; without any, it is the seed's own run.
//
// Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/injection.h"
#include "sim/plan.h"

namespace baton::sim {

struct SteeredMishap {
  Duration gap{};
  Mishap mishap{};
  std::uint64_t random = 0;
};

class Steering {
 public:
  static constexpr std::size_t kSeedBytes = 8;
  static constexpr std::size_t kRecordBytes = 4;

  explicit Steering(std::span<const std::uint8_t> bytes);

  std::uint64_t seed() const { return seed_; }
  const std::vector<SteeredMishap>& mishaps() const { return mishaps_; }
  const ForcedFaults& exchanges() const { return exchanges_; }
  /// A line for each.
  std::string Text() const;

 private:
  void AddMishap(std::span<const std::uint8_t> record);
  void AddExchange(std::span<const std::uint8_t> record);

  std::uint64_t seed_ = 0;
  std::vector<SteeredMishap> mishaps_;
  ForcedFaults exchanges_;
};

}  // namespace baton::sim
