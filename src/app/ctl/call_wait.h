// How a verb of batonctl waits for a gRPC call. An interrupt such as Ctrl-C (Interrupt in
// interrupt.h) cancels the call.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include "base/clock.h"

namespace baton::app {

/// Converts `deadline` to the clock of gRPC's deadlines. REQUIRES (not checked): `deadline` is not
/// TimePoint::max().
std::chrono::system_clock::time_point SystemTime(TimePoint deadline);

/// Lets a thread wait for the end of one call of gRPC's callback API. REQUIRES (not checked): this
/// object outlives the call.
class CallCompletion {
 public:
  /// Says that the call has ended. Call Finish once, in the call's callback.
  void Finish(grpc::Status status);
  /// Waits until Finish is called, and returns the call's status. Wait has no timeout of its own,
  /// so the call needs a deadline. If Interrupt happens, Wait cancels the call within 20 ms, and
  /// still waits for Finish. Then the status is normally CANCELLED.
  grpc::Status Wait(grpc::ClientContext* context);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  grpc::Status status_;  // guarded by mutex_
  bool done_ = false;    // guarded by mutex_
};

/// While this guard lives, cancels a blocking call within 20 ms after Interrupt happens. Each guard
/// has a thread of its own. REQUIRES (not checked): `context` outlives the guard.
class InterruptGuard {
 public:
  explicit InterruptGuard(grpc::ClientContext& context);
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;  // guarded by mutex_
  std::thread thread_;
};

/// Waits for 2.1 s if two things are true: `status` says that the node does not know this user or
/// the user's groups yet, and more than 2.1 s are left until the deadline. Returns true after this
/// wait; then make the call once more. Returns false at once in all other cases, and if Interrupt
/// happens.
bool WaitedUntilKnown(const grpc::Status& status, TimePoint deadline);

}  // namespace baton::app
