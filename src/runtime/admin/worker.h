// Worker: one thread that runs posted tasks in order, with a bounded queue for each urgency.
//
// Thread-safe. Tasks must not throw. The destructor runs the queued tasks, then ends the thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <thread>

#include "base/clock.h"

namespace baton::runtime {

class Worker {
 public:
  enum class Urgency { kUsual, kUrgent };

  /// `bound`: the greatest number of waiting tasks of each urgency.
  explicit Worker(std::size_t bound);
  /// Waits without a bound, unless End was called.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Urgent tasks run before the usual ones. False: the queue is full, or End was called, and the
  /// task is dropped.
  [[nodiscard]] bool Post(std::function<void()> task, Urgency urgency = Urgency::kUsual);

  /// Runs the queued tasks and ends the thread, for tasks that may stand still. False: this takes
  /// longer than `patience`. The tasks go on without this object, as far as the process lives, so
  /// they must own what they use. REQUIRES: called once, by the owner.
  bool End(Duration patience);

 private:
  struct Shared;
  static void Run(Shared& shared);

  const std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace baton::runtime
