// Growth: how the processor time of some work grows with its size. A ratio depends little on the
// machine, and the time that other processes take does not count.
#pragma once

#include <time.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>

#include "base/clock.h"

namespace baton::test {

/// The processor time of this thread so far.
inline Duration ProcessorTime() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

/// How much more four times as much takes: 4 if the work is linear, 16 if it is quadratic. `work`
/// does the work of that size, and returns what it took. The least of three tries: caches and
/// neighbours make a try longer, never shorter.
inline double GrowthOverFour(int size, const std::function<Duration(int)>& work) {
  const auto least = [&](int of_size) {
    Duration best = work(of_size);
    for (int i = 0; i < 2; ++i) best = std::min(best, work(of_size));
    return static_cast<double>(best.count());
  };
  return least(4 * size) / std::max(1.0, least(size));
}

/// Halfway between linear and quadratic.
inline constexpr double kMaxGrowth = 9;

}  // namespace baton::test
