// CallbackProbe: measures how late gRPC's callbacks are. All servers of a process, also those of
// the sidecar's connections, share a few threads for them (two on two cores). The same threads
// parse what callers send.
//
// One thread, which must not be one of gRPC's.
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
  /// Waits for the callback that is under way.
  ~CallbackProbe();
  CallbackProbe(const CallbackProbe&) = delete;
  CallbackProbe& operator=(const CallbackProbe&) = delete;

  /// Returns how long the callback that is under way has waited so far. If none is under way,
  /// begins one, and returns 0. So a callback that came before the next call is not seen as late.
  /// `now` must not go back.
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
