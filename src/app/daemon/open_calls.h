// OpenCalls: how many calls and streams of batond's gRPC servers are open now, counted separately
// for the port and for the admin socket. gRPC 1.51 does not count them.
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

/// For ServerBuilder::experimental().SetInterceptorCreators. The interceptor counts calls in
/// `calls`, reports each call to `budget` (ReceiveBudget::Served and Over), and changes nothing.
/// Each call over a unix socket counts as a call of the admin socket. REQUIRES (not checked): no
/// pointer is null.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> CountOpenCalls(
    std::shared_ptr<OpenCalls> calls, std::shared_ptr<ReceiveBudget> budget);

}  // namespace baton::app
