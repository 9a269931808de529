// OpenCalls: how many calls and streams of batond's gRPC server are open now, by the socket over
// which they came. gRPC 1.51 has no such count, and none for its own limits.
//
// Any thread. The counts may outlive the server.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include <grpcpp/support/server_interceptor.h>

#include "base/receive_budget.h"

namespace baton::app {

struct OpenCalls {
  std::atomic<std::int64_t> at_port{0};          ///< --listen
  std::atomic<std::int64_t> at_admin_socket{0};  ///< --admin-socket
};

/// For ServerBuilder::experimental().SetInterceptorCreators. It counts calls in `calls`, tells
/// `budget` of each (ReceiveBudget::Served and Over), and changes nothing. A call over any unix
/// socket counts as the admin socket's. REQUIRES: no pointer is null.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> CountOpenCalls(
    std::shared_ptr<OpenCalls> calls, std::shared_ptr<ReceiveBudget> budget);

}  // namespace baton::app
