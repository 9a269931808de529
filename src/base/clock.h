// Time as Baton counts it: monotonic, including suspend (CLOCK_BOOTTIME), in nanoseconds.
//
// The pure core never calls a clock; it is given `now`. The loop and `Leads()` read one through
// this interface, so that the simulator can replace it. Implementations are thread-safe.
#pragma once

#include <chrono>
#include <cstdint>

namespace baton {

/// A point on one host's boot-time clock. Points of different hosts or boots don't compare.
struct BootClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock, duration>;
  static constexpr bool is_steady = true;
  /// CLOCK_BOOTTIME of this host.
  static time_point now();
};
using TimePoint = BootClock::time_point;
using Duration = BootClock::duration;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint Now() const = 0;
  /// The host's real clock; never for this process, and safe from any thread.
  static const Clock& Real();
};

}  // namespace baton
