// Application: who acts on a node's leaderships where that is no Listener in this process: the
// sidecar's side of the engine.
//
// A Listener's callback holds a thread until it returns. An application elsewhere takes as long as
// it likes, for any number of shards at once, so it is handed each callback with a completion, and
// no thread waits. The node that has one is external (core::CoreOptions::external) and leads
// nothing until `changed` was called.
//
// Threads: all but End are called on the node's loop, in the order of the core's actions; they must
// not block. Completions and `changed` may be called from any thread, also from within Run.
#pragma once

#include <functional>

#include "base/clock.h"
#include "core/events.h"

namespace baton::runtime {

class Application {
 public:
  virtual ~Application() = default;

  /// Once, before anything else. `changed` tells the node what is known of the application.
  virtual void Begin(std::function<void(core::ApplicationState)> changed) = 0;
  /// The callback, with its completion: to be called once; `ok` is false where the application
  /// failed. Callbacks of a shard come in the order a Listener would get them, and here the next
  /// may come before the last has completed.
  virtual void Run(const core::RunCallback& callback, std::function<void(bool ok)> done) = 0;
  /// This shard is not led from now on, and what gives it away is about to be sent. Where the
  /// application completed `releasing` it knows already.
  virtual void OnNotLed(ShardId shard) = 0;
  /// The node knows of this change now: what it asks for from here on follows from it.
  virtual void OnChanged(core::ApplicationState state) = 0;
  /// Until when the application may act at all; TimePoint::min(): not at all.
  virtual void OnDeadline(TimePoint deadline) = 0;
  /// What is known of the application at this moment. Any thread.
  virtual core::ApplicationState state() const = 0;
  /// The node ends: on its return no completion and no `changed` is called any more. On the thread
  /// that stops the node.
  virtual void End() = 0;
};

}  // namespace baton::runtime
