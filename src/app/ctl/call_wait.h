// How a verb waits for a call that gRPC's threads carry out, until Ctrl-C or SIGTERM (Interrupt).
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

namespace baton::app {

/// Lets one thread wait for a call with a callback. It must outlive the call.
class CallCompletion {
 public:
  /// On gRPC's thread, once.
  void Finish(grpc::Status status);
  /// Waits until Finish was called, and returns the call's status; only the call's deadline bounds
  /// this. Cancels the call as soon as Interrupt happens.
  grpc::Status Wait(grpc::ClientContext* context);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  grpc::Status status_;  // guarded by mutex_
  bool done_ = false;    // guarded by mutex_
};

/// Cancels a blocking call as soon as Interrupt happens, as long as the guard lives. `context` must
/// outlive the guard.
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

}  // namespace baton::app
