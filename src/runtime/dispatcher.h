// Dispatcher: runs the application's callbacks, never on the loop.
//
// Functions of one shard run one at a time, in the order given; those of different shards side by
// side. A callback that blocks holds up its own shard only: the pool grows while its threads are
// blocked, up to kMostThreads, and the callback's bound (kept by the core) costs that shard alone.
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
  /// From any thread; never blocks.
  virtual void Run(ShardId shard, std::function<void()> function) = 0;
  /// Waits until everything given has returned; nothing runs afterwards.
  virtual void Finish() = 0;
};

class ThreadPoolDispatcher final : public Dispatcher {
 public:
  static constexpr std::size_t kMostThreads = 256;

  /// REQUIRES: 1 <= threads <= kMostThreads.
  explicit ThreadPoolDispatcher(std::size_t threads);
  /// As Finish.
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
