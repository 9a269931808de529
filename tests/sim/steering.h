// Steering: bytes decide a run as far as they reach; the seed draws the rest.
//
//   The first 8 bytes are the seed, least significant first. It decides sizes, personality,
//   latencies, and all else that is not named below. Missing bytes are 0.
//
//   Each 4 bytes after that are a record. The first byte says which kind it is.
//
//     Below 192:    gap, mishap, 2 bytes of its random numbers.
//                   The mishap comes this long after the one before.
//
//     192 or more:  machine, fault, phase, number.
//                   The fault strikes the machine's exchange of that number in that phase.
//
//   Fewer than 4 bytes at the end mean nothing.
//
// One changed byte changes one mishap or one exchange, and what follows from it. When the named
// mishaps are over, the seed draws more, as in every run. Without any, it is the seed's own run.
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
