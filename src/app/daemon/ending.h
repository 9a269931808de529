// Ending: why batond ends. The reason is a signal, the end of the program of `batond run`, or a
// halt of the node or relay.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "baton/result.h"
#include "runtime/control.h"

namespace baton::app {

/// Records why the daemon ends, and lets the daemon wait for this. Thread-safe.
class Ending {
 public:
  /// Call this when a signal has come, or when the program has ended. `signal`: the signal's
  /// number; 0: the program has ended. Only the first call counts. Don't call this in a signal
  /// handler, because it takes a lock.
  void Terminate(int signal) {
    const std::lock_guard lock(mutex_);
    if (!terminate_) signal_ = signal;
    terminate_ = true;
    changed_.notify_all();
  }
  /// The signal of the first Terminate. 0: the program has ended, or Terminate was not called.
  int signal() {
    const std::lock_guard lock(mutex_);
    return signal_;
  }
  /// Call this when the node or relay has halted. The last call counts.
  void Halt(const Error& why) {
    const std::lock_guard lock(mutex_);
    halted_ = why;
    changed_.notify_all();
  }
  /// Waits until Terminate or Halt was called, but at most for `patience`. Returns whether one of
  /// them was called. Does not wait if `patience` is 0 or less. REQUIRES (not checked): `patience`
  /// is at most 100 years, because a longer time overflows the clock.
  bool WaitFor(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [this] { return terminate_ || halted_.has_value(); });
  }
  /// Why the node or relay has halted; nullopt: it has not halted.
  std::optional<Error> halted() {
    const std::lock_guard lock(mutex_);
    return halted_;
  }

 private:
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool terminate_ = false;
  int signal_ = 0;
  std::optional<Error> halted_;
};

/// Ends the daemon when its node or relay halts, even if the halt came before the observer was
/// added. OnHalted is called on the loop's thread. A node that was stopped does not call OnHalted.
class HaltObserver : public runtime::Observer {
 public:
  explicit HaltObserver(std::shared_ptr<Ending> ending) : ending_(std::move(ending)) {}
  void OnHalted(const Error& why) override { ending_->Halt(why); }

 private:
  const std::shared_ptr<Ending> ending_;
};

}  // namespace baton::app
