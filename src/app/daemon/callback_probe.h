// CallbackProbe: how late gRPC's callbacks are. All servers of a process, also those of the
// sidecar's connections, share a few threads (two on two cores), which also parse what callers
// send.
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

  /// How long the callback that is under way has waited. If there is none, begins one, and returns
  /// 0. `now` must not go back.
  Duration Waited(TimePoint now);

 private:
  grpc::GenericStub stub_;
  grpc::ByteBuffer request_;
  std::unique_ptr<grpc::ClientContext> context_;  // of the last call, as are the next two
  grpc::ByteBuffer response_;
  TimePoint begun_{};

  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = true;  // mutex_
};

}  // namespace baton::app
