// Baton's clock: monotonic, counts suspended time too (CLOCK_BOOTTIME), in nanoseconds.
//
// The pure core never calls a clock; it is given `now`. The loop and `Leads()` read one through
// this interface, so that the simulator can replace it. Implementations are thread-safe.
#pragma once

#include <chrono>
#include <cstdint>

namespace baton {

/// A point on one host's boot-time clock. Points of different hosts or boots can't be compared.
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
  /// WallTime{} if it knows no wall clock.
  virtual WallTime WallNow() const { return WallTime{}; }
  /// The host's real clock. Never destroyed; any thread may use it.
  static const Clock& Real();
};

}  // namespace baton
