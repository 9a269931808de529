// Application: acts on a node's leaderships from another process, instead of a Listener in this
// process. It is the engine's side of the sidecar.
//
// A Listener's callback holds a thread until it returns. Another process may take as long as it
// likes, for any number of shards at once. So each callback comes with a completion (`done`), and
// no thread waits for it. A node with an Application is external (core::CoreOptions::external): it
// opens no session, and so leads nothing, before the first call of `changed` with kAttached.
//
// Threads: the node calls every method on its loop, in the order of the core's actions, except
// `state` (any thread) and End. No method may block or throw. The application may call `done`,
// `changed` and `said` on any thread, also from inside Run.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "base/clock.h"
#include "core/events.h"

namespace baton::runtime {

/// The longest error of a callback, in bytes. It is kept for each shard that fails, and shown to
/// operators.
inline constexpr std::size_t kLongestCallbackError = 256;

class Application {
 public:
  virtual ~Application() = default;

  /// Says that a callback is done. If it failed, `ok` is false. REQUIRES: `error` is one line of at
  /// most kLongestCallbackError bytes and "..."; or it is empty, because nobody said why.
  using Done = std::function<void(bool ok, const std::string& error)>;

  /// Called once, before all other methods but `state` and End. The application calls `changed`
  /// with each new state; at first it counts as kAbsent.
  ///
  /// The application calls `said` to say whether it is ready to take over a shard for which it
  /// stands by. REQUIRES: the argument names the operation of the shard's last kStandby callback.
  /// The node ignores it after the shard's next kStandbyEnded, kAcquired or kLost. The node looks
  /// at it in one of the next turns of its loop; if several wait for a shard, only at the newest.
  virtual void Begin(std::function<void(core::ApplicationState)> changed,
                     std::function<void(const core::StandbyReadySaid&)> said) = 0;
  /// Starts a callback. The application calls `done` at most once. The core sets time limits as for
  /// a Listener, and a `done` may also come later than these. A failed kStandby or kStandbyEnded is
  /// only counted. The node calls Run for a shard's callbacks in the same order as a Listener's,
  /// but does not wait for the `done` of earlier ones.
  virtual void Run(const core::RunCallback& callback, Done done) = 0;
  /// The node does not lead the shard from now on: it lost the shard, or it sends the write that
  /// gives the shard away after this call. A kReleasing of the shard may still be without `done`.
  virtual void OnNotLed(ShardId shard) = 0;
  /// The node has processed a call of `changed` with this state: each later call of a method here
  /// takes the change into account. Called once for each call of `changed`, in the same order,
  /// unless the node ends before.
  virtual void OnChanged(core::ApplicationState state) = 0;
  /// Sets the time until which the application may act. TimePoint::min(): it may not act.
  virtual void OnDeadline(TimePoint deadline) = 0;
  /// The application's state at this moment. Any thread.
  virtual core::ApplicationState state() const = 0;
  /// The node ends. After this returns, the application calls no `done`, `changed` or `said`.
  /// Called once, on the thread that stops the node, as the last call. If the start of the node
  /// fails, End may come without Begin.
  virtual void End() = 0;
};

}  // namespace baton::runtime
