#include "runtime/admin/grpc_access.h"

#include <grpc/grpc_security_constants.h>

#include <memory>
#include <string>
#include <utility>

#include <grpcpp/security/auth_context.h>

#include "base/grpc/server_tls.h"

namespace baton::runtime {
namespace {

grpc::StatusCode CodeOf(access::Refused::Why why) {
  switch (why) {
    case access::Refused::Why::kToken:
    case access::Refused::Why::kCertificate: return grpc::StatusCode::UNAUTHENTICATED;
    case access::Refused::Why::kRole:
    case access::Refused::Why::kUnknown: break;
    case access::Refused::Why::kTooMany: return grpc::StatusCode::RESOURCE_EXHAUSTED;
    case access::Refused::Why::kNoChanges: return grpc::StatusCode::UNIMPLEMENTED;
  }
  return grpc::StatusCode::PERMISSION_DENIED;
}

bool IsSecure(const grpc::CallbackServerContext& context) {
  const auto peer = context.auth_context();
  if (peer == nullptr) return false;
  const auto types = peer->FindPropertyValues(GRPC_TRANSPORT_SECURITY_TYPE_PROPERTY_NAME);
  return types.size() == 1 && types.front() == GRPC_SSL_TRANSPORT_SECURITY_TYPE;
}

access::Shown ShownIn(const grpc::CallbackServerContext& context) {
  const auto [first, last] = context.client_metadata().equal_range(
      grpc::string_ref(access::kAuthorization.data(), access::kAuthorization.size()));
  access::Shown shown;
  for (auto header = first; header != last; ++header) {
    shown.authorization.emplace_back(header->second.data(), header->second.size());
  }
  if (!shown.authorization.empty()) shown.secure = IsSecure(context);
  return shown;
}

}  // namespace

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
  return {CodeOf(refused.why), std::move(refused.line)};
}

// The options have one level only: who may make changes may make all of them.
access::Gate GateOf(const AdminOptions& options) {
  constexpr auto kIgnored = access::Access::Tokens::kIgnored;
  if (!options.operators) {
    return {std::make_shared<access::Access>(access::Access::Defaults{
                .this_host = access::Role::kAdmin,
                .other_hosts = options.allow_remote ? access::Role::kAdmin : access::Role::kRead,
                .tokens = kIgnored}),
            nullptr};
  }
  access::Rules rules;
  for (const std::string& name : *options.operators) {
    rules.certificates.push_back({.name = name, .role = access::Role::kAdmin});
  }
  auto access = std::make_shared<access::Access>(access::Access::Defaults{.tokens = kIgnored});
  access->SetRules(std::move(rules));
  return {std::move(access), nullptr};
}

access::Caller CallerOf(const access::Gate& gate, const grpc::CallbackServerContext& context) {
  return gate.CallerAt(context.peer(), CertificateOf(context), ShownIn(context));
}

std::optional<grpc::Status> RefuseRead(const access::Gate& gate,
                                       const grpc::CallbackServerContext& context,
                                       const char* method) {
  auto refused = gate.RefuseRead(CallerOf(gate, context), method);
  if (!refused) return std::nullopt;
  return StatusOf(*std::move(refused));
}

}  // namespace baton::runtime
