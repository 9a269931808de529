// Watchdog: notices that the application in this process gives no sign of life any more.
//
// If no sign of life comes for as long as the bound, Leads() turns false at once, also if the loop
// stands still: LeadershipTable compares the time itself. The loop hears of it a moment later, ends
// the session, and begins another one when the next sign comes.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "base/clock.h"
#include "runtime/executor.h"
#include "runtime/leadership_table.h"

namespace baton::runtime {

class Engine;

class Watchdog final : public std::enable_shared_from_this<Watchdog> {
 public:
  /// `changed` is called on the loop: with false if no sign came in time, with true at the next
  /// one. REQUIRES: `bound` > 0; clock, executor and table outlive this object, which a shared_ptr
  /// owns.
  Watchdog(Duration bound, const Clock& clock, Executor& executor, LeadershipTable& table,
           std::function<void(bool alive)> changed);

  /// Begins to watch: from now on a sign must come within each bound. Later calls do nothing. On
  /// the loop.
  void Begin();
  /// A sign of life. Any thread, lock-free. If it returns true, the loop must call Look.
  [[nodiscard]] bool NoteAlive() noexcept {
    if (!begun_.load()) return false;
    table_.ProlongAliveUntil(clock_.Now() + bound_);
    return silent_.exchange(false);
  }
  /// No sign is expected any more. Any thread.
  void End() noexcept { table_.SetAliveUntil(TimePoint::max()); }
  /// Makes a watchdog that tells `engine` whether the application lives (core::ApplicationChanged).
  /// Null if the bound is 0. REQUIRES: as the constructor's, except for the bound.
  static std::shared_ptr<Watchdog> Of(const std::shared_ptr<Engine>& engine, Duration bound,
                                      Executor& executor, LeadershipTable& table);
  /// Checks whether the bound has passed, calls `changed` if the answer is new, and checks again
  /// when the bound can next pass. Called on the loop.
  void Look();

 private:
  const Duration bound_;
  const Clock& clock_;
  Executor& executor_;
  LeadershipTable& table_;
  const std::function<void(bool alive)> changed_;
  /// The loop sets it before it looks for a sign, and a sign clears it: so either the loop sees the
  /// sign, or the sign sees that the loop must look again.
  std::atomic<bool> silent_{false};
  std::atomic<bool> begun_{false};
  // Only the loop uses these.
  bool alive_ = true;
  bool looks_later_ = false;
};

}  // namespace baton::runtime
