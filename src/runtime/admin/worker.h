// Worker: one thread that runs posted tasks in order, with a bounded queue for each urgency.
//
// Thread-safe. Tasks must not throw. The destructor runs the queued tasks, then ends the thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace baton::runtime {

class Worker {
 public:
  enum class Urgency { kUsual, kUrgent };

  /// `bound`: the greatest number of waiting tasks of each urgency.
  explicit Worker(std::size_t bound);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Urgent tasks run before the usual ones. False: the queue is full, and the task is dropped.
  [[nodiscard]] bool Post(std::function<void()> task, Urgency urgency = Urgency::kUsual);

 private:
  void Run();

  const std::size_t bound_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> usual_;   // guarded by mutex_
  std::deque<std::function<void()>> urgent_;  // guarded by mutex_
  bool ending_ = false;                       // guarded by mutex_
  std::thread thread_;
};

}  // namespace baton::runtime
