// Baton's clock: CLOCK_BOOTTIME in nanoseconds. It never goes back, and it goes on while the host
// is suspended.
//
// The pure core never calls a clock; it gets `now` as an argument. The loop and `Leads()` read the
// interface Clock, so that the simulator can replace it. Implementations are thread-safe.
#pragma once

#include <chrono>
#include <cstdint>

namespace baton {

/// The boot-time clock of one host. Its time points can't be compared with those of another host or
/// another boot.
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

/// A point on the wall clock, in whole seconds since 1970. The wall clocks of hosts differ, and may
/// be wrong. WallTime{}: unknown.
using WallTime = std::chrono::sys_seconds;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint Now() const = 0;
  /// Returns the time of the wall clock, rounded down to whole seconds. WallTime{}: there is no
  /// wall clock.
  virtual WallTime WallNow() const { return WallTime{}; }
  /// Returns the host's real clock, which is never destroyed. Any thread may use it.
  static const Clock& Real();
};

}  // namespace baton
