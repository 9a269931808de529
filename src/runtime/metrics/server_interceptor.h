// Tells ServerCalls what a gRPC server serves. Apart from server_calls.h for gRPC's headers.
#pragma once

#include <memory>
#include <string>

#include <grpcpp/support/server_interceptor.h>

#include "runtime/metrics/server_calls.h"

namespace baton::runtime {

/// For ServerBuilder::experimental().SetInterceptorCreators: counts each call, and changes none.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> CountCalls(
    std::shared_ptr<ServerCalls> calls);

/// All methods of a service that is linked in, by its full name; nothing for another.
void ExpectService(ServerCalls& calls, const std::string& service);

}  // namespace baton::runtime
