// Worker: one thread that runs posted tasks in order, with a bounded queue for each urgency.
//
// Thread-safe, except for the destructor and End. Tasks must not throw. A task may call Post.
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

  /// Starts the thread. `bound`: the most waiting tasks of each urgency, without the task that
  /// runs. Throws std::system_error if the host lacks threads.
  explicit Worker(std::size_t bound);
  /// Waits without a bound until the queued tasks have run and the thread has ended. After End,
  /// does nothing. REQUIRES: no task destroys the worker, because it would wait for itself.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Queues a task, and returns at once. All urgent tasks that wait run before the next usual task.
  /// False: the task is dropped, because the queue of this urgency is full, or because the
  /// destructor or End was called.
  [[nodiscard]] bool Post(std::function<void()> task, Urgency urgency = Urgency::kUsual);

  /// Ends the thread once the queued tasks have run. Waits for this, but at most for `patience`,
  /// because a task may hang. False: not all tasks have ended by then. The tasks that are left
  /// still run, even after this object is destroyed, so they must own what they use. REQUIRES:
  /// called once, by the owner, and not by a task.
  bool End(Duration patience);

 private:
  struct Shared;
  static void Run(Shared& shared);

  const std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace baton::runtime
