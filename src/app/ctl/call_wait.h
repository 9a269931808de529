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

/// `deadline` by the clock that gRPC's deadlines use.
std::chrono::system_clock::time_point SystemTime(TimePoint deadline);

/// Lets one thread wait for one call with a callback. REQUIRES: this object outlives the call.
class CallCompletion {
 public:
  /// Call it once, in the callback, on gRPC's thread: the call has ended.
  void Finish(grpc::Status status);
  /// Waits until Finish was called, and returns the call's status. Only the call's deadline bounds
  /// the wait. Within 20 ms of an Interrupt it cancels the call, and still waits for Finish, which
  /// then mostly brings CANCELLED.
  grpc::Status Wait(grpc::ClientContext* context);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  grpc::Status status_;  // guarded by mutex_
  bool done_ = false;    // guarded by mutex_
};

/// Cancels a blocking call within 20 ms of an Interrupt, while the guard lives. Each guard has a
/// thread of its own. REQUIRES: `context` outlives the guard.
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

/// If the node refused the call because it does not know this user or the user's groups yet, and
/// more than 2.1 s are left until the deadline, waits for 2.1 s. Returns whether to make the call
/// once more. Otherwise, and after an Interrupt, returns false at once.
bool WaitedUntilKnown(const grpc::Status& status, TimePoint deadline);

}  // namespace baton::app
