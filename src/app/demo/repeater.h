// Repeater: a thread that calls the same function again and again, with a pause after each call.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

#include "base/clock.h"

namespace baton::app {

/// Sleeps. A signal may end the sleep early.
void Pause(Duration duration);

class Repeater {
 public:
  /// Starts the thread, which calls `step` at once and then again and again. `step` returns the
  /// pause before its next call. REQUIRES (not checked): `step` is set, and doesn't throw.
  explicit Repeater(std::function<Duration()> step);
  /// Waits until the present call of `step` has returned, and the whole pause after it is over.
  ~Repeater();
  Repeater(const Repeater&) = delete;
  Repeater& operator=(const Repeater&) = delete;

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace baton::app
