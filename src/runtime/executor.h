// Executor: runs functions one after another; a node's loop.
//
// Production uses Loop, a thread. The simulator runs them on virtual time.
#pragma once

#include <functional>

#include "base/clock.h"

namespace baton::runtime {

class Executor {
 public:
  virtual ~Executor() = default;
  /// Runs a function soon, in the order of posting. From any thread.
  virtual void Post(std::function<void()> function) = 0;
  /// Runs a function once, after a delay. REQUIRES: called from a function that runs on this
  /// executor.
  virtual void Schedule(Duration delay, std::function<void()> function) = 0;
};

}  // namespace baton::runtime
