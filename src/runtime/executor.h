// Executor: runs functions one after another. A node's or relay's executor is its loop (loop.h).
// The simulator runs the functions on virtual time.
#pragma once

#include <functional>

#include "base/clock.h"

namespace baton::runtime {

class Executor {
 public:
  virtual ~Executor() = default;
  /// Queues a function, and returns at once, also on the executor itself. The functions run in the
  /// order of the calls of Post. If the executor ends before a function's turn, the function does
  /// not run. The queue has no bound. Any thread. REQUIRES: the function doesn't throw.
  virtual void Post(std::function<void()> function) = 0;
  /// Returns at once. Runs the function once, when `delay` has passed or later. A delay of 0 or
  /// less: as soon as possible, but not inside this call. If the executor ends before, the function
  /// does not run. REQUIRES: called from a function that runs on this executor; the function
  /// doesn't throw.
  virtual void Schedule(Duration delay, std::function<void()> function) = 0;
};

}  // namespace baton::runtime
