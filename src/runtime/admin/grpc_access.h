// Access over gRPC: says who calls a method, and turns errors and refusals into gRPC statuses.
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

/// Returns the gRPC status of an error, with the error's message. The code has the error's name,
/// for example NOT_FOUND for kNotFound. There are two exceptions: DEADLINE_EXCEEDED for kTimedOut,
/// and ABORTED for kStaleTerm.
grpc::Status StatusOf(const Error& error);
/// Returns the gRPC status of a refusal, with Refused::line as the message. The code is
/// UNAUTHENTICATED for kToken and kCertificate, RESOURCE_EXHAUSTED for kTooMany, UNIMPLEMENTED for
/// kNoChanges, and PERMISSION_DENIED for all other reasons.
grpc::Status StatusOf(access::Refused refused);

/// Returns the gate of a server whose connections gRPC itself accepts. Such a server does not know
/// which user of this host calls (access::Callers). The gate ignores tokens. A caller who may make
/// changes by `options` has the role kAdmin. Every other caller has kRead. If a caller's
/// certificate has expired since the caller connected, the caller has kNone. REQUIRES (not
/// checked): CheckAdminOptions accepts the options.
access::Gate GateOf(const AdminOptions& options);

/// Returns the call's caller, with its peer, and with its certificate, token and user as far as
/// they are proven. If its certificate or token is not valid, `bad_certificate` or `bad_token` says
/// why.
access::Caller CallerOf(const access::Gate& gate, const grpc::CallbackServerContext& context);
/// For methods that only read. Returns why this call is refused; nullopt: the call is allowed.
/// `method`: the name without the service. Counts the call (access::CallLimits), so use RefuseRead
/// once for each call.
std::optional<grpc::Status> RefuseRead(const access::Gate& gate,
                                       const grpc::CallbackServerContext& context,
                                       const char* method);

}  // namespace baton::runtime
