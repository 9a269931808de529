// Executor: runs functions one after another. For a node or a relay it is the loop.
//
// Production uses Loop, a thread. The simulator runs the functions on virtual time.
#pragma once

#include <functional>

#include "base/clock.h"

namespace baton::runtime {

class Executor {
 public:
  virtual ~Executor() = default;
  /// Queues a function, and returns at once, also on the executor itself. The functions run in the
  /// order of posting. A function does not run if the executor ends before its turn. The queue has
  /// no bound. Any thread. REQUIRES: the function doesn't throw.
  virtual void Post(std::function<void()> function) = 0;
  /// Returns at once. Runs the function once, when `delay` has passed or later. With a delay of 0
  /// or less, runs it as soon as possible, but not inside this call. The function does not run if
  /// the executor ends before that. REQUIRES: called from a function that runs on this executor;
  /// the function doesn't throw.
  virtual void Schedule(Duration delay, std::function<void()> function) = 0;
};

}  // namespace baton::runtime
