// Random: all chance of a simulation, from one 64-bit seed. It uses integers only, so that a seed
// means the same on every machine.
#pragma once

#include <cstdint>

#include "base/check.h"
#include "base/clock.h"

namespace baton::sim {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  /// Splitmix: a counter, well mixed.
  std::uint64_t Next() {
    state_ += 0x9E3779B97F4A7C15ull;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9ull;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBull;
    return mixed ^ (mixed >> 31);
  }
  /// In [0, below). REQUIRES: below > 0. (The remainder's bias does not matter here.)
  std::uint64_t Below(std::uint64_t below) {
    BATON_CHECK(below > 0);
    return Next() % below;
  }
  /// In [least, most].
  int Between(int least, int most) {
    return least + static_cast<int>(Below(static_cast<std::uint64_t>(most - least) + 1));
  }
  Duration Between(Duration least, Duration most) {
    const auto range = static_cast<std::uint64_t>((most - least).count()) + 1;
    return least + Duration(static_cast<Duration::rep>(Below(range)));
  }
  /// True this many times in a thousand.
  bool Chance(int per_mille) { return Below(1000) < static_cast<std::uint64_t>(per_mille); }
  /// A generator of its own, so that the draws of one part don't shift those of another.
  Random Fork() { return Random(Next()); }

 private:
  std::uint64_t state_;
};

/// A separate seed for each part of a run that has `seed`.
inline std::uint64_t Mixed(std::uint64_t seed, std::uint64_t part) {
  return Random(Random(seed).Next() ^ part).Next();
}

}  // namespace baton::sim
