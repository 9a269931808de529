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
  /// Starts the thread. `step` returns the pause after this call. REQUIRES: `step` doesn't throw.
  explicit Repeater(std::function<Duration()> step);
  /// Waits until the present call of `step`, and the whole pause after this call, are over.
  ~Repeater();
  Repeater(const Repeater&) = delete;
  Repeater& operator=(const Repeater&) = delete;

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace baton::app
