// Access over gRPC: says who calls a method, and turns errors and refusals into gRPC's statuses.
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

/// The gate of a server whose connections gRPC itself accepts. Such a server does not know the
/// users of callers on this host, because nobody asks the kernel about the sockets
/// (access::Callers). It reads no tokens. Each caller's role is kAdmin or kRead.
access::Gate GateOf(const AdminOptions& options);

/// Returns the call's caller: its peer, and the certificate, token and user that are proven.
access::Caller CallerOf(const access::Gate& gate, const grpc::CallbackServerContext& context);
/// The refusal of a call of this method, which only reads; unset: the caller may call it. Counts
/// the call (access::CallLimits), so use it once a call.
std::optional<grpc::Status> RefuseRead(const access::Gate& gate,
                                       const grpc::CallbackServerContext& context,
                                       const char* method);

}  // namespace baton::runtime
