// Executor: one place where functions run one after another: a node's loop.
//
// Production uses Loop (a thread); the simulator runs them on virtual time.
#pragma once

#include <functional>

#include "base/clock.h"

namespace baton::runtime {

class Executor {
 public:
  virtual ~Executor() = default;
  /// Runs a function soon, in the order posted. From any thread.
  virtual void Post(std::function<void()> function) = 0;
  /// Runs a function once after a delay. From functions that run here.
  virtual void Schedule(Duration delay, std::function<void()> function) = 0;
};

}  // namespace baton::runtime
