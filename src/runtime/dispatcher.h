// Dispatcher: runs the application's callbacks, on threads of its own.
//
// The functions of one shard run one at a time, in the order in which Run got them. Functions of
// different shards run in parallel. So a function that blocks delays only its own shard, as long as
// a thread is free. If all threads are busy and functions wait, and no function returns for 20 ms,
// the pool gets one more thread. It has at most kMaxThreads. If kMaxThreads functions block, the
// functions of all other shards wait.
//
// The queue has no bound. The dispatcher never ends a function that runs for too long. (The core
// notices such a function by its time limits.)
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "baton/types.h"

namespace baton::runtime {

class Dispatcher {
 public:
  virtual ~Dispatcher() = default;
  /// Queues a function, and returns at once. Any thread may call Run, also from inside a queued
  /// function. Once Finish or FinishWithin has begun, Run drops the function without an error. If a
  /// queued function throws, the process ends.
  virtual void Run(ShardId shard, std::function<void()> function) = 0;
  /// Waits without a bound until all queued functions have run and returned. No function runs
  /// afterwards. A second call returns at once, even while the first call still waits. REQUIRES: no
  /// queued function calls Finish, because the function would wait for itself.
  virtual void Finish() = 0;
};

/// A dispatcher that starts with `threads` threads. The number of threads never falls.
class ThreadPoolDispatcher final : public Dispatcher {
 public:
  static constexpr std::size_t kMaxThreads = 256;

  /// REQUIRES: 1 <= threads <= kMaxThreads (checked). Throws std::system_error or
  /// boost::system::system_error if the host lacks threads. If a later thread can't be started, the
  /// process ends.
  explicit ThreadPoolDispatcher(std::size_t threads);
  /// Calls Finish.
  ~ThreadPoolDispatcher() override;
  ThreadPoolDispatcher(const ThreadPoolDispatcher&) = delete;
  ThreadPoolDispatcher& operator=(const ThreadPoolDispatcher&) = delete;

  void Run(ShardId shard, std::function<void()> function) override;
  /// From now on, Run drops functions. Waits until all queued functions have run and returned, but
  /// at most for `bound`. Returns the shards that still have functions, sorted; empty: all
  /// functions have returned. The functions that are left still run, and Finish or the destructor
  /// waits for them. REQUIRES: no queued function calls FinishWithin.
  std::vector<ShardId> FinishWithin(std::chrono::milliseconds bound);
  void Finish() override;
  /// The number of threads now. Any thread.
  std::size_t threads() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace baton::runtime
