// Loop: the thread that owns a node's state. All other threads post functions to it. Any thread may
// call its methods, except End, and except Schedule, which only functions on the loop may call.
//
// The delays of Schedule don't count the time during which the host is suspended. Clock counts it.
#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "runtime/executor.h"

namespace baton::runtime {

class Loop final : public Executor {
 public:
  /// Throws std::system_error if the host lacks threads, boost::system::system_error if the process
  /// lacks descriptors.
  Loop();
  /// Calls End.
  ~Loop() override;
  /// Runs the functions that were posted before, then ends the thread, and waits for that. Drops
  /// the functions of Schedule that are not due yet. Functions that are posted later never run;
  /// they are destroyed with this object. Idempotent. REQUIRES: only one thread calls it, and not
  /// the loop's thread.
  void End();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void Post(std::function<void()> function) override;
  void Schedule(Duration delay, std::function<void()> function) override;
  /// When the loop last made a turn, by BootClock. A loop that isn't stuck makes a turn about every
  /// kTurn. After End the time stays the same. Lock-free.
  TimePoint LastTurn() const noexcept;
  /// Whether the calling thread is the loop's.
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
