// Application: another process that acts on a node's leaderships, as the node's engine sees it. A
// node with an Application has no Listener. The sidecar implements this interface
// (sidecar/attachment.h).
//
// A Listener's callback holds a thread until it returns. Another process may take as long as it
// likes, for any number of shards at once. So each callback comes with a completion (`done`), and
// no thread waits for the completion. A node with an Application is external
// (core::CoreOptions::external): it opens no session, and so leads nothing, before `changed` has
// said that the application is not absent.
//
// Threads: the node calls every method on its loop, except `state` (any thread) and End. The calls
// come in the order of the core's actions. No method may block or throw. The application may call
// `done`, `changed` and `said` on any thread, also from inside a method of this class.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "base/clock.h"
#include "core/events.h"

namespace baton::runtime {

/// The longest error of a callback, in bytes, without the "..." of a cut error. It is kept for each
/// shard that fails, and shown to operators.
inline constexpr std::size_t kLongestCallbackError = 256;

class Application {
 public:
  virtual ~Application() = default;

  /// Says that a callback is done. If the callback failed, `ok` is false. REQUIRES (not checked):
  /// `error` is empty if `ok` is true, or if no reason is known. Otherwise `error` is one line.
  /// The application cuts a longer line to kLongestCallbackError bytes and adds "...": at most
  /// kLongestCallbackError + 3 bytes.
  using Done = std::function<void(bool ok, const std::string& error)>;

  /// Called once, before all other methods except `state` and End. The application calls `changed`
  /// with each new state. Before the first call of `changed`, the application counts as kAbsent.
  ///
  /// The application calls `said` to say whether it is ready to take over a shard for which it
  /// stands by. The argument must name the operation of the shard's last kStandby callback;
  /// otherwise the node ignores the call. The node also ignores the call after the shard's next
  /// kStandbyEnded, kAcquired or kLost. The node looks at the argument in one of the next turns of
  /// its loop. If several arguments about a shard wait, the node looks only at the newest.
  virtual void Begin(std::function<void(core::ApplicationState)> changed,
                     std::function<void(const core::StandbyReadySaid&)> said) = 0;
  /// Starts a callback. The application calls `done` at most once. The core's time limits are the
  /// same as for a Listener, and `done` may come after the limit. A late `done` of kAcquired still
  /// counts while the same leadership lasts, but not after a later kAcquired of the shard. If the
  /// node has sent a resignation of the shard within the limit, `done` is ignored, even if etcd
  /// refuses the resignation. While a transfer of the shard is in flight, a late `done` does not
  /// make the node lead the shard. A `done` of kSuspended or kResumed is ignored. A `done` of kLost
  /// always counts. A late `done` of kPrepare or kReleasing is ignored. If a kStandby or
  /// kStandbyEnded fails, the node only counts the failure. The node calls Run for a shard's
  /// callbacks in the order in which a Listener would get them, but does not wait for the `done` of
  /// earlier ones.
  virtual void Run(const core::RunCallback& callback, Done done) = 0;
  /// The node does not lead the shard any more, until a later kAcquired of the shard. Either the
  /// node lost the shard, or after this call it sends the write that gives the shard away. In the
  /// second case a second call follows when the node has lost the shard. A kReleasing or kAcquired
  /// of the shard may still be without `done`.
  virtual void OnNotLed(ShardId shard) = 0;
  /// The node has processed a call of `changed` with this state. Each later call of a method here
  /// takes the change into account. Called once for each call of `changed`, in the same order. When
  /// the node ends, the last calls may be missing.
  virtual void OnChanged(core::ApplicationState state) = 0;
  /// Sets the time until which the application may act. TimePoint::min(): it may not act; the same
  /// holds before the first call. When the session ends, min() comes before the OnNotLed and kLost
  /// of the shards that the node still has. A call may repeat the last value.
  virtual void OnDeadline(TimePoint deadline) = 0;
  /// The application's state at this moment. Any thread.
  virtual core::ApplicationState state() const = 0;
  /// The node ends. After this returns, the application calls no `done`, `changed` or `said`.
  /// Called once, on the thread that stops the node. After it the node calls only `state`. If the
  /// start of the node fails, End comes without Begin, or does not come at all.
  virtual void End() = 0;
};

}  // namespace baton::runtime
