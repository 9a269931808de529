// OpenCalls: how many calls and streams of batond's gRPC servers are open now. The port and the
// admin socket have separate counts.
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

/// Returns a factory for ServerBuilder::experimental().SetInterceptorCreators. Its interceptor
/// counts calls in `calls`, reports each call to `budget` (ReceiveBudget::Served and Over), and
/// changes nothing. Every call over a unix socket counts as one of the admin socket. REQUIRES (not
/// checked): no pointer is null.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> CountOpenCalls(
    std::shared_ptr<OpenCalls> calls, std::shared_ptr<ReceiveBudget> budget);

}  // namespace baton::app
