// Dispatcher: runs the application's callbacks, on threads of its own.
//
// The functions of one shard run one at a time, in the order in which Run got them. Functions of
// different shards run in parallel. A callback that blocks delays only its own shard. If functions
// wait, and no function has returned for 20 ms, the pool gets one more thread, up to kMaxThreads.
// Beyond that, the functions of other shards wait, too. The queue has no bound here. The core
// limits the duration of each callback, but nothing here ends one.
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
  /// Queues a function. Any thread may call it, a queued function too; it never blocks for
  /// callbacks. After Finish or FinishWithin has begun, it drops the function. If a function
  /// throws, the process ends.
  virtual void Run(ShardId shard, std::function<void()> function) = 0;
  /// Waits, without a bound, until all queued functions have returned. Nothing runs afterwards. A
  /// second call returns at once, even while the first one still waits. REQUIRES: no queued
  /// function calls it, which would wait for itself.
  virtual void Finish() = 0;
};

/// A dispatcher with `threads` threads at first. The number of threads never falls.
class ThreadPoolDispatcher final : public Dispatcher {
 public:
  static constexpr std::size_t kMaxThreads = 256;

  /// REQUIRES: 1 <= threads <= kMaxThreads. Throws std::system_error or boost::system::system_error
  /// if the host has no thread left. If the host has none left when the pool grows later, the
  /// process ends.
  explicit ThreadPoolDispatcher(std::size_t threads);
  /// Calls Finish.
  ~ThreadPoolDispatcher() override;
  ThreadPoolDispatcher(const ThreadPoolDispatcher&) = delete;
  ThreadPoolDispatcher& operator=(const ThreadPoolDispatcher&) = delete;

  void Run(ShardId shard, std::function<void()> function) override;
  /// Begins to finish, and waits until all queued functions have returned, or `bound` has passed.
  /// Returns the shards that still have functions, sorted; these functions still run. Call Finish
  /// afterwards. REQUIRES: no queued function calls it.
  std::vector<ShardId> FinishWithin(std::chrono::milliseconds bound);
  void Finish() override;
  /// The number of threads now. Any thread.
  std::size_t threads() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace baton::runtime
