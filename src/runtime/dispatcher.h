// Dispatcher: runs the application's callbacks, on threads of its own.
//
// The functions of one shard run one at a time, in the order in which Run got them. Functions of
// different shards run in parallel. So a function that blocks delays only its own shard, as long as
// a thread is free.
//
// Suppose that all threads are busy, that functions wait (for a thread, or for an earlier function
// of their shard), and that no function has returned for 20 ms. Then the pool gets one more thread.
// It has at most kMaxThreads. If kMaxThreads functions block, the functions of all other shards
// wait.
//
// The queue has no bound here. Nothing here ends a function that runs for too long. The core
// notices the function by its time limits, but can't end it either.
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
  /// Queues a function. Any thread may call Run, also from inside a queued function. Run never
  /// waits for functions to return. Once Finish or FinishWithin has begun, Run drops the function,
  /// and the caller does not learn of that. If a queued function throws, the process ends.
  virtual void Run(ShardId shard, std::function<void()> function) = 0;
  /// Waits, without a bound, until all queued functions have run and returned. Nothing runs
  /// afterwards. A second call returns at once, even while the first one still waits. REQUIRES: no
  /// queued function calls it, because it would wait for itself.
  virtual void Finish() = 0;
};

/// A dispatcher with `threads` threads at first. The number of threads never falls.
class ThreadPoolDispatcher final : public Dispatcher {
 public:
  static constexpr std::size_t kMaxThreads = 256;

  /// REQUIRES: 1 <= threads <= kMaxThreads (checked). Throws std::system_error or
  /// boost::system::system_error if the host lacks threads. If the host lacks threads when the pool
  /// grows later, the process ends.
  explicit ThreadPoolDispatcher(std::size_t threads);
  /// Calls Finish.
  ~ThreadPoolDispatcher() override;
  ThreadPoolDispatcher(const ThreadPoolDispatcher&) = delete;
  ThreadPoolDispatcher& operator=(const ThreadPoolDispatcher&) = delete;

  void Run(ShardId shard, std::function<void()> function) override;
  /// Takes no more functions (see Run), and waits until all queued functions have run and returned,
  /// or `bound` has passed. Returns the shards that still have functions, sorted; empty: all
  /// functions have returned. Functions that run go on, and those that wait run later. Finish, or
  /// the destructor, waits for all of them. REQUIRES: no queued function calls it.
  std::vector<ShardId> FinishWithin(std::chrono::milliseconds bound);
  void Finish() override;
  /// The number of threads now. Any thread.
  std::size_t threads() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace baton::runtime
