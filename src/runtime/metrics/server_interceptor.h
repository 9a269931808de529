// CountCalls: reports the calls of a gRPC server to ServerCalls. This header is apart from
// server_calls.h, because gRPC calls its interceptors experimental. Any thread.
#pragma once

#include <memory>
#include <string>

#include <grpcpp/support/server_interceptor.h>

#include "runtime/metrics/server_calls.h"

namespace baton::runtime {

/// Returns a factory for ServerBuilder::experimental().SetInterceptorCreators. Its interceptors
/// count calls, and change nothing. A call counts as handled when the server sends the call's
/// status. If a call ends without a status, it counts as CANCELLED. The factory and its
/// interceptors keep `calls` alive.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> CountCalls(
    std::shared_ptr<ServerCalls> calls);

/// Calls ServerCalls::Expect for all methods of a service. `service`: its full name, such as
/// "baton.v1.AdminService". Does nothing if the program does not contain the service's descriptor.
void ExpectService(ServerCalls& calls, const std::string& service);

}  // namespace baton::runtime
