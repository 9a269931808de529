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

/// The gRPC status of an error, with the same message. The code has the error's name, except
/// DEADLINE_EXCEEDED for kTimedOut and ABORTED for kStaleTerm.
grpc::Status StatusOf(const Error& error);
/// The gRPC status of a refusal, with its line as the message: UNAUTHENTICATED for kToken and
/// kCertificate, RESOURCE_EXHAUSTED for kTooMany, UNIMPLEMENTED for kNoChanges, PERMISSION_DENIED
/// for the others.
grpc::Status StatusOf(access::Refused refused);

/// The gate of a server whose connections gRPC itself accepts. Callers on this host are not known
/// by their users there, because nobody asks the kernel about the sockets (access::Callers). A
/// caller who may make any change there may make all changes.
access::Gate GateOf(const AdminOptions& options);

/// Returns the call's caller: its peer, and the certificate, token and user that are proven.
access::Caller CallerOf(const access::Gate& gate, const grpc::CallbackServerContext& context);
/// Whether the caller may call this method, which only reads. Unset: it may. Otherwise the refusal.
/// Counts the call (access::CallLimits).
std::optional<grpc::Status> RefuseRead(const access::Gate& gate,
                                       const grpc::CallbackServerContext& context,
                                       const char* method);

}  // namespace baton::runtime
