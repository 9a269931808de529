// How a verb of batonctl waits for a gRPC call. Ctrl-C or SIGTERM (Interrupt) cancels the call.
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
/// TimePoint::max(), which would overflow.
std::chrono::system_clock::time_point SystemTime(TimePoint deadline);

/// Lets one thread wait for one call with a callback. REQUIRES: this object outlives the call.
class CallCompletion {
 public:
  /// Says that the call has ended. Call it once, in the call's callback, on gRPC's thread.
  void Finish(grpc::Status status);
  /// Waits until Finish was called, and returns the call's status. Only the call's deadline bounds
  /// the wait. If Interrupt happens, Wait cancels the call within 20 ms, and goes on waiting for
  /// Finish. The status is then mostly CANCELLED.
  grpc::Status Wait(grpc::ClientContext* context);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  grpc::Status status_;  // guarded by mutex_
  bool done_ = false;    // guarded by mutex_
};

/// While this guard lives, cancels a blocking call within 20 ms after Interrupt happens. Each guard
/// has a thread of its own. REQUIRES: `context` outlives the guard.
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

/// Waits for 2.1 s if two things are true: `status` is the refusal of a node that does not know
/// this user or the user's groups yet, and more than 2.1 s are left until the deadline. Returns
/// true after this wait; then make the call once more. Otherwise, and if Interrupt happens, returns
/// false at once.
bool WaitedUntilKnown(const grpc::Status& status, TimePoint deadline);

}  // namespace baton::app
