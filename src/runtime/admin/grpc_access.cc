#include "runtime/admin/grpc_access.h"

#include <utility>

#include "base/grpc/server_tls.h"

namespace baton::runtime {

grpc::Status StatusOf(const Error& error) {
  switch (error.code) {
    case ErrorCode::kInvalidArgument: return {grpc::StatusCode::INVALID_ARGUMENT, error.message};
    case ErrorCode::kNotFound: return {grpc::StatusCode::NOT_FOUND, error.message};
    case ErrorCode::kFailedPrecondition:
      return {grpc::StatusCode::FAILED_PRECONDITION, error.message};
    case ErrorCode::kUnavailable: return {grpc::StatusCode::UNAVAILABLE, error.message};
    case ErrorCode::kTimedOut: return {grpc::StatusCode::DEADLINE_EXCEEDED, error.message};
    case ErrorCode::kStaleTerm: return {grpc::StatusCode::ABORTED, error.message};
    case ErrorCode::kUnimplemented: return {grpc::StatusCode::UNIMPLEMENTED, error.message};
    case ErrorCode::kInternal: break;
  }
  return {grpc::StatusCode::INTERNAL, error.message};
}

grpc::Status StatusOf(access::Refused refused) {
  using Why = access::Refused::Why;
  const auto code = refused.why == Why::kTooMany ? grpc::StatusCode::RESOURCE_EXHAUSTED
                                                 : grpc::StatusCode::PERMISSION_DENIED;
  return {code, std::move(refused.line)};
}

access::Caller CallerOf(const access::Gate& gate, const grpc::CallbackServerContext& context) {
  return gate.CallerAt(context.peer(), CertificateOf(context));
}

std::optional<grpc::Status> RefuseRead(const access::Gate& gate,
                                       const grpc::CallbackServerContext& context,
                                       const char* method) {
  auto refused = gate.RefuseRead(CallerOf(gate, context), method);
  if (!refused) return std::nullopt;
  return StatusOf(*std::move(refused));
}

}  // namespace baton::runtime
