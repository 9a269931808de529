// Application: acts on a node's leaderships from another process, in place of a Listener in this
// one. It is the engine's side of the sidecar.
//
// A Listener's callback holds a thread until it returns. Another process may take as long as it
// likes, for any number of shards at once. So each callback comes with a completion, and no thread
// waits for it. A node with an Application is external (core::CoreOptions::external): it leads
// nothing before the first call of `changed` with kAttached.
//
// Threads: the node calls every method on its loop, in the order of the core's actions, except
// `state` (any thread) and End. None may block or throw. Completions, `changed` and `said` may be
// called from any thread, also within Run.
#pragma once

#include <functional>

#include "base/clock.h"
#include "core/events.h"

namespace baton::runtime {

class Application {
 public:
  virtual ~Application() = default;

  /// Called once, before the other methods. The application calls `changed` with each new state. It
  /// calls `said` to say whether it is ready to take over a shard for which it stands by. It may do
  /// so until the shard's next kStandbyEnded, kAcquired or kLost, and names the operation of the
  /// shard's last kStandby callback. Only the newest word about each shard reaches the node, in one
  /// of the next turns of its loop.
  virtual void Begin(std::function<void(core::ApplicationState)> changed,
                     std::function<void(const core::StandbyReadySaid&)> said) = 0;
  /// Starts a callback. The application calls `done` at most once; `ok` is false if the callback
  /// failed. A failed kStandby or kStandbyEnded is only counted. The callbacks of a shard begin in
  /// the same order as a Listener's, but one may begin before the earlier ones have completed.
  virtual void Run(const core::RunCallback& callback, std::function<void(bool ok)> done) = 0;
  /// The node does not lead the shard from now on, and next sends the write that gives it away. The
  /// application need not have completed `releasing`.
  virtual void OnNotLed(ShardId shard) = 0;
  /// The node has processed this change of state. Everything that it asks for from now on takes the
  /// change into account.
  virtual void OnChanged(core::ApplicationState state) = 0;
  /// Sets the time until which the application may act. TimePoint::min(): it may not act.
  virtual void OnDeadline(TimePoint deadline) = 0;
  /// The application's state at this moment. Any thread.
  virtual core::ApplicationState state() const = 0;
  /// The node ends. After this returns, the application calls no completions, `changed` or `said`.
  /// Called on the thread that stops the node.
  virtual void End() = 0;
};

}  // namespace baton::runtime
