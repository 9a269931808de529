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
  /// Runs a function soon, in the order of posting. Any thread may call it. The function must not
  /// throw.
  virtual void Post(std::function<void()> function) = 0;
  /// Runs a function once, after a delay. It does not run if the executor ends before. REQUIRES:
  /// called from a function that runs on this executor.
  virtual void Schedule(Duration delay, std::function<void()> function) = 0;
};

}  // namespace baton::runtime
