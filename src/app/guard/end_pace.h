// EndPace: how often a shared guard ends sessions for one state directory. A node's user writes the
// state file, so a file that changes all the time could name ever new sessions there. Each of them
// costs etcd requests.
//
// Pure: `now` is an argument, and must not go back. Not thread-safe: one object for each directory.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>

#include "base/clock.h"

namespace baton::app {

class EndPace {
 public:
  /// At most kMost times within kWithin.
  static constexpr std::size_t kMost = 10;
  static constexpr std::chrono::minutes kWithin{1};

  /// Returns how long to wait until the guard may act again. 0: it may act now.
  Duration Wait(TimePoint now) const;
  /// Notes that the guard acts now. REQUIRES: Wait(now) is 0 (checked).
  void Begin(TimePoint now);

 private:
  std::deque<TimePoint> began_;  // the last ones, at most kMost
};

}  // namespace baton::app
