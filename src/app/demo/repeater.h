// Repeater: a thread that does the same step again and again, with a pause after each.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

#include "base/clock.h"

namespace baton::app {

void Pause(Duration duration);

class Repeater {
 public:
  /// Runs `step` on a thread of its own. It returns how long to pause.
  explicit Repeater(std::function<Duration()> step);
  /// Waits until the present step and the whole pause after it are over.
  ~Repeater();
  Repeater(const Repeater&) = delete;
  Repeater& operator=(const Repeater&) = delete;

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace baton::app
