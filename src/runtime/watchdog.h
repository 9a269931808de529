// Watchdog: notices if the application in this process gives no sign of life any more.
//
// If no sign comes within the bound, Leads() turns false at once. This needs no turn of the loop,
// because LeadershipTable compares the time itself. A moment later the loop calls Look, and Look
// calls `changed` with false. That ends the session. When the next sign comes, `changed` is called
// with true, and the node begins another session. But if a sign comes before that call of Look, the
// session goes on: Leads() turns true again, with the same terms, and `changed` is not called.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

#include "base/clock.h"
#include "runtime/executor.h"
#include "runtime/leadership_table.h"

namespace baton::runtime {

class Engine;

class Watchdog final : public std::enable_shared_from_this<Watchdog> {
 public:
  /// Until Begin, nothing is watched. `changed` is called on the loop, inside Look: with false when
  /// the loop finds that no sign came in time, with true after the next sign. REQUIRES: `bound` > 0
  /// (checked); clock, executor and table outlive this object; a shared_ptr owns this object.
  Watchdog(Duration bound, const Clock& clock, Executor& executor, LeadershipTable& table,
           std::function<void(bool alive)> changed);

  /// Begins to watch. The first sign must come within the bound from now. Each further sign must
  /// come within the bound after the sign before. A second call does nothing, and so does a call
  /// after End. Call Begin on the loop.
  void Begin();
  /// A sign of life. Any thread, lock-free. True: the caller must post a call of Look to the loop.
  /// Before Begin, NoteAlive does nothing and returns false.
  [[nodiscard]] bool NoteAlive() noexcept {
    if (!begun_.load()) return false;
    table_.ProlongAliveUntil(clock_.Now() + bound_);
    return silent_.exchange(false);
  }
  /// Ends the watch for ever: no sign is expected from now on. Any thread; waits for a short lock.
  /// A second call changes nothing. If the bound has passed before the call, `changed` may still be
  /// called. Then Leads() may turn true again until the loop has ended the session.
  void End() noexcept;
  /// Makes a watchdog that uses the real clock, and passes each change to `engine`
  /// (core::ApplicationChanged). Does not keep the engine alive. Returns null if the bound is 0.
  /// Otherwise REQUIRES the same as the constructor.
  static std::shared_ptr<Watchdog> Of(const std::shared_ptr<Engine>& engine, Duration bound,
                                      Executor& executor, LeadershipTable& table);
  /// Checks whether the bound has passed, and calls `changed` if the answer is new. While signs
  /// come in time, Look schedules its next call for the time when the bound can next pass. Call
  /// Look on the loop.
  void Look();

 private:
  const Duration bound_;
  const Clock& clock_;
  Executor& executor_;
  LeadershipTable& table_;
  const std::function<void(bool alive)> changed_;
  /// If no sign came in time, the loop sets it, and then looks for a sign once more. A sign clears
  /// it. So the loop sees the sign, or the sign's caller learns that the loop must look again.
  std::atomic<bool> silent_{false};
  std::atomic<bool> begun_{false};
  std::mutex mutex_;    // so that Begin can't undo End
  bool ended_ = false;  // mutex_
  // Only the loop uses these.
  bool alive_ = true;
  bool looks_later_ = false;
};

}  // namespace baton::runtime
