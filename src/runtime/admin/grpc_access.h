// Access over gRPC: who calls a method, and errors and refusals as gRPC's statuses.
//
// Any thread.
#pragma once

#include <optional>

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include "access/access.h"
#include "baton/grpc.h"
#include "baton/result.h"

namespace baton::runtime {

/// The gRPC status of an error, with the same message.
grpc::Status StatusOf(const Error& error);
/// The gRPC status of a refusal, with its line.
grpc::Status StatusOf(access::Refused refused);

/// The gate of a server whose connections we don't accept ourselves, so that no user is known.
access::Gate GateOf(const AdminOptions& options);

/// Who calls.
access::Caller CallerOf(const access::Gate& gate, const grpc::CallbackServerContext& context);
/// Unset: the caller may call this method, which only reads. Counts the call (access::CallLimits).
std::optional<grpc::Status> RefuseRead(const access::Gate& gate,
                                       const grpc::CallbackServerContext& context,
                                       const char* method);

}  // namespace baton::runtime
