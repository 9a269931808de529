// Executor: runs functions one after another. It is a node's loop.
//
// Production uses Loop, a thread. The simulator runs the functions on virtual time.
#pragma once

#include <functional>

#include "base/clock.h"

namespace baton::runtime {

class Executor {
 public:
  virtual ~Executor() = default;
  /// Queues a function, and returns at once. The functions run in the order of posting. Any thread
  /// may call it, the executor's too. The queue has no bound. REQUIRES: the function doesn't throw.
  virtual void Post(std::function<void()> function) = 0;
  /// Runs a function once, not before `delay` has passed. Returns at once. The function does not
  /// run if the executor ends before. REQUIRES: called from a function that runs on this executor;
  /// the function doesn't throw.
  virtual void Schedule(Duration delay, std::function<void()> function) = 0;
};

}  // namespace baton::runtime
