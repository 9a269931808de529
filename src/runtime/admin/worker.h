// Worker: one thread that runs posted tasks in order, with a bounded queue for each urgency.
//
// Thread-safe, except for the destructor and End. Tasks must not throw.
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

  /// `bound`: the most waiting tasks of each urgency. Throws std::system_error if the host lacks
  /// threads.
  explicit Worker(std::size_t bound);
  /// Runs the queued tasks, then ends the thread. Waits without a bound. After End, does nothing.
  /// REQUIRES: no task calls it, because it would wait for itself.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Queues a task, and returns at once. All urgent tasks that wait run before the next usual one.
  /// False: the queue of this urgency is full, or the worker ends; the task is dropped.
  [[nodiscard]] bool Post(std::function<void()> task, Urgency urgency = Urgency::kUsual);

  /// Runs the queued tasks and ends the thread, but waits at most for `patience`, because tasks may
  /// stand still. False: the tasks have not ended by then. The tasks that run or wait go on without
  /// this object, so they must own what they use. REQUIRES: called once, by the owner, and not by a
  /// task.
  bool End(Duration patience);

 private:
  struct Shared;
  static void Run(Shared& shared);

  const std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace baton::runtime
