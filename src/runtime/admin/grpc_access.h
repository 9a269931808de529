// Access over gRPC: says who calls a method, and turns errors and refusals into gRPC's statuses.
//
// Any thread may call the functions.
#pragma once

#include <optional>

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include "access/access.h"
#include "baton/grpc.h"
#include "baton/result.h"

namespace baton::runtime {

/// Returns the gRPC status of an error, with the same message. The code has the error's name
/// (NOT_FOUND for kNotFound), with two exceptions: DEADLINE_EXCEEDED for kTimedOut, and ABORTED for
/// kStaleTerm.
grpc::Status StatusOf(const Error& error);
/// Returns the gRPC status of a refusal, with Refused::line as the message. The code is
/// UNAUTHENTICATED for kToken and kCertificate, RESOURCE_EXHAUSTED for kTooMany, UNIMPLEMENTED for
/// kNoChanges, and PERMISSION_DENIED for the others.
grpc::Status StatusOf(access::Refused refused);

/// Returns the gate of a server whose connections gRPC itself accepts. This server does not know
/// which user of this host calls, because nobody asks the kernel about the sockets
/// (access::Callers). It reads no tokens. A caller who may make changes by `options` has the role
/// kAdmin, and every other caller has kRead. But if a caller's certificate has expired since the
/// caller connected, the role is kNone. REQUIRES: CheckAdminOptions accepts the options.
access::Gate GateOf(const AdminOptions& options);

/// Returns the call's caller, with its peer. Its certificate, token and user are set if they are
/// proven. If it shows a certificate or token that is not valid, `bad_certificate` or `bad_token`
/// says why.
access::Caller CallerOf(const access::Gate& gate, const grpc::CallbackServerContext& context);
/// Returns why this call of `method` is refused; unset: the caller may make it. `method`: the
/// method's name without the service. For methods that only read. Counts the call
/// (access::CallLimits), so use it once for each call.
std::optional<grpc::Status> RefuseRead(const access::Gate& gate,
                                       const grpc::CallbackServerContext& context,
                                       const char* method);

}  // namespace baton::runtime
