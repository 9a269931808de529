// Worker: a thread that runs posted tasks one after another, with a bounded queue for each urgency.
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

  /// Starts the thread. `bound`: the most tasks of each urgency that wait. Throws std::system_error
  /// if the host lacks threads.
  explicit Worker(std::size_t bound);
  /// Waits without a bound until the queued tasks have run and the thread has ended. After End,
  /// does not wait. REQUIRES: no task destroys the worker, because the task would wait for itself.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Queues a task, and returns at once. All waiting urgent tasks run before the next usual task.
  /// Tasks of the same urgency run in the order of Post. False: the task is dropped, because its
  /// queue is full, or because the destructor or End was called.
  [[nodiscard]] bool Post(std::function<void()> task, Urgency urgency = Urgency::kUsual);

  /// Ends the thread once the queued tasks have run. Waits for the thread's end, but at most for
  /// `patience`, because a task may hang. False: the thread has not ended. Then the tasks that are
  /// left still run, even after this object is destroyed. So they must own what they use, and must
  /// not call Post. REQUIRES: called once, by the owner, and not by a task.
  bool End(Duration patience);

 private:
  struct Shared;
  static void Run(Shared& shared);

  const std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace baton::runtime
