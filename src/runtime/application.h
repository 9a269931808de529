// Application: acts on a node's leaderships from another process, in place of a Listener in this
// one. It is the engine's side of the sidecar.
//
// A Listener's callback holds a thread until it returns. Another process may take as long as it
// likes, for any number of shards at once. So each of its callbacks comes with a completion, and no
// thread waits. A node with an Application is external (core::CoreOptions::external): it leads
// nothing before the first call of `changed`.
//
// Threads: the node calls every method on its loop, in the order of the core's actions, except
// `state` and End; none may block. Completions and `changed` may be called from any thread, also
// within Run.
#pragma once

#include <functional>

#include "base/clock.h"
#include "core/events.h"

namespace baton::runtime {

class Application {
 public:
  virtual ~Application() = default;

  /// Called once, before anything else. `changed` tells the node each new state of the application.
  virtual void Begin(std::function<void(core::ApplicationState)> changed) = 0;
  /// Starts a callback. The application calls `done` once; `ok` is false if it failed. The
  /// callbacks of a shard begin in the same order as a Listener's, but one may begin before the
  /// last has completed.
  virtual void Run(const core::RunCallback& callback, std::function<void(bool ok)> done) = 0;
  /// The shard is not led from now on; the write that gives it away is sent next. An application
  /// that completed `releasing` knows this already.
  virtual void OnNotLed(ShardId shard) = 0;
  /// The node has processed this change: everything that it asks for from now on takes it into
  /// account.
  virtual void OnChanged(core::ApplicationState state) = 0;
  /// Sets the time until which the application may act. TimePoint::min(): it may not act.
  virtual void OnDeadline(TimePoint deadline) = 0;
  /// The application's state at this moment. Any thread.
  virtual core::ApplicationState state() const = 0;
  /// The node ends. After this returns, neither a completion nor `changed` is called. Called on the
  /// thread that stops the node.
  virtual void End() = 0;
};

}  // namespace baton::runtime
