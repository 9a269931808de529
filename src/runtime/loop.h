// Loop: the thread that owns a node's state. All other threads post functions to it. Any thread may
// call its methods, except as noted.
//
// The delays of Schedule don't count the time in which the host is suspended. Clock does count it.
#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "runtime/executor.h"

namespace baton::runtime {

class Loop final : public Executor {
 public:
  /// Throws std::system_error if the host lacks threads.
  Loop();
  /// Calls End.
  ~Loop() override;
  /// Runs the functions that were posted before, then ends the thread. Drops timers. Functions that
  /// are posted later never run. Idempotent. REQUIRES: one thread calls it, not the loop's.
  void End();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void Post(std::function<void()> function) override;
  void Schedule(Duration delay, std::function<void()> function) override;
  /// When the loop last made a turn, by BootClock. A loop that isn't stuck turns at least every
  /// kTurn. Lock-free.
  TimePoint LastTurn() const noexcept;
  /// Whether the caller runs on the loop.
  bool OnLoop() const;

  static constexpr Duration kTurn = std::chrono::milliseconds(200);

 private:
  struct State;
  void Turn();
  std::unique_ptr<State> state_;
  std::atomic<std::int64_t> last_turn_{0};
  std::thread thread_;
};

}  // namespace baton::runtime
