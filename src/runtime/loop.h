// Loop: the thread that owns a node's state. All other threads post functions to the loop. Any
// thread may call the methods, with two exceptions: only functions on the loop may call Schedule,
// and End has a rule of its own.
//
// While the host is suspended, the delays of Schedule stand still, but the time of Clock goes on.
#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "runtime/executor.h"

namespace baton::runtime {

class Loop final : public Executor {
 public:
  /// Throws std::system_error if the host lacks threads. Throws boost::system::system_error if the
  /// process lacks descriptors.
  Loop();
  /// Calls End.
  ~Loop() override;
  /// Runs the functions that were posted before, then ends the thread, and waits for the thread's
  /// end. Functions that are posted later never run, and functions of Schedule that have not run by
  /// then never run. All of them are destroyed with this object. Idempotent. REQUIRES: only one
  /// thread calls End, and not the loop's thread.
  void End();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void Post(std::function<void()> function) override;
  void Schedule(Duration delay, std::function<void()> function) override;
  /// When the loop last made a turn, by BootClock; before the first turn, when this object was
  /// made. A loop that isn't stuck makes a turn about every kTurn. After End the time does not
  /// change. Lock-free.
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
