// Reports the calls of a gRPC server to ServerCalls. In a header of its own, as it needs gRPC's
// interceptors, which gRPC calls experimental.
#pragma once

#include <memory>
#include <string>

#include <grpcpp/support/server_interceptor.h>

#include "runtime/metrics/server_calls.h"

namespace baton::runtime {

/// For ServerBuilder::experimental().SetInterceptorCreators: counts calls, and changes nothing.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> CountCalls(
    std::shared_ptr<ServerCalls> calls);

/// Expects all methods of a service, by its full name, if the service is linked in.
void ExpectService(ServerCalls& calls, const std::string& service);

}  // namespace baton::runtime
