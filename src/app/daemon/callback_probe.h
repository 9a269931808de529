// CallbackProbe: measures how late gRPC's callbacks are. In a process, a few threads (two on two
// cores) call the callbacks of all servers, including the sidecar's. The same threads parse what
// callers send.
//
// One thread at a time. This thread must not be one of gRPC's.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include "base/clock.h"

namespace baton::app {

class CallbackProbe {
 public:
  CallbackProbe();
  /// Waits without a bound for the callback that is under way, if any.
  ~CallbackProbe();
  CallbackProbe(const CallbackProbe&) = delete;
  CallbackProbe& operator=(const CallbackProbe&) = delete;

  /// If a callback is under way, returns how long this callback has waited so far. Otherwise asks
  /// gRPC for a callback, and returns 0. A callback that comes before the next call of Waited does
  /// not count as late. Never waits. REQUIRES (not checked): `now` never goes back.
  Duration Waited(TimePoint now);

 private:
  grpc::GenericStub stub_;
  grpc::ByteBuffer request_;
  std::unique_ptr<grpc::ClientContext> context_;  // of the last callback
  grpc::ByteBuffer response_;                     // the same
  TimePoint begun_{};                             // the same

  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = true;  // mutex_
};

}  // namespace baton::app
