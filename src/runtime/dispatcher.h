// Dispatcher: runs the application's callbacks, never on the loop.
//
// Functions of one shard run one at a time, in the order given. Functions of different shards run
// in parallel. A callback that blocks delays only its own shard: while all threads are blocked, the
// pool grows, up to kMaxThreads. The core limits the duration of each callback, and gives up only
// that shard.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>

#include "baton/types.h"

namespace baton::runtime {

class Dispatcher {
 public:
  virtual ~Dispatcher() = default;
  /// Queues a function. Any thread may call it; it never blocks. After Finish has begun, it drops
  /// the function. The function must not throw.
  virtual void Run(ShardId shard, std::function<void()> function) = 0;
  /// Waits until all queued functions have returned. Nothing runs afterwards. Never call it from a
  /// queued function. A second call returns at once, even while the first one still waits.
  virtual void Finish() = 0;
};

class ThreadPoolDispatcher final : public Dispatcher {
 public:
  static constexpr std::size_t kMaxThreads = 256;

  /// REQUIRES: 1 <= threads <= kMaxThreads.
  explicit ThreadPoolDispatcher(std::size_t threads);
  /// Calls Finish.
  ~ThreadPoolDispatcher() override;
  ThreadPoolDispatcher(const ThreadPoolDispatcher&) = delete;
  ThreadPoolDispatcher& operator=(const ThreadPoolDispatcher&) = delete;

  void Run(ShardId shard, std::function<void()> function) override;
  void Finish() override;
  std::size_t threads() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace baton::runtime
