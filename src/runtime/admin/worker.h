// Worker: one thread that runs posted tasks in order, with a bounded queue.
//
// Thread-safe. Tasks must not throw. The destructor runs what is queued, then ends the thread.
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
  /// At most `bound` tasks wait.
  explicit Worker(std::size_t bound);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// False, and the task is dropped, where the queue is full.
  [[nodiscard]] bool Post(std::function<void()> task);

 private:
  void Run();

  const std::size_t bound_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;  // guarded by mutex_
  bool ending_ = false;                      // guarded by mutex_
  std::thread thread_;
};

}  // namespace baton::runtime
