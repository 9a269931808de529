// Baton's clock: CLOCK_BOOTTIME in nanoseconds. It never goes back, and it goes on while the host
// is suspended.
//
// The pure core never calls a clock; it gets `now` as an argument. The loop and `Leads()` read the
// clock through the interface Clock, so that the simulator can replace it. Implementations are
// thread-safe.
#pragma once

#include <chrono>
#include <cstdint>

namespace baton {

/// One host's boot-time clock. Time points of different hosts or boots can't be compared.
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

/// A point on the wall clock, in whole seconds since 1970. Clocks of different hosts differ, and
/// may be wrong. WallTime{}: unknown.
using WallTime = std::chrono::sys_seconds;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint Now() const = 0;
  /// The time of the wall clock, rounded down to whole seconds. WallTime{}: this clock has no wall
  /// clock.
  virtual WallTime WallNow() const { return WallTime{}; }
  /// The host's real clock. Never destroyed; any thread may use it.
  static const Clock& Real();
};

}  // namespace baton
