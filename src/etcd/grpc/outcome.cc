#include "etcd/grpc/outcome.h"

#include <string_view>

#include <fmt/format.h>

#include "base/status_code.h"
#include "etcd/grpc/transport.h"

namespace baton::etcd {
namespace {

using grpc::StatusCode;

bool Says(const grpc::Status& status, std::string_view words) {
  return status.error_message().find(words) != std::string::npos;
}

// gRPC's words for a call that never got a connection. With other words, UNAVAILABLE does not say
// so.
bool NeverLeft(const grpc::Status& status) {
  return Says(status, "failed to connect to all addresses");
}

bool RefusesToServe(const grpc::Status& status) {
  return Says(status, "rpc not supported for learner") || Says(status, "not capable");
}

// etcd says this if auth is on and the call carries no token, an unknown one, or one from before
// the last change of users or roles.
bool BlamesTheToken(const grpc::Status& status) {
  return Says(status, "invalid auth token") || Says(status, "user name is empty") ||
         Says(status, "revision of auth store is old");
}

bool TooLarge(const grpc::Status& status) {
  return Says(status, "larger than max") || Says(status, "request is too large");
}

bool TooManyOperations(const grpc::Status& status) { return Says(status, "too many operations"); }

}  // namespace

Verdict VerdictOf(const grpc::Status& status) {
  switch (status.error_code()) {
    case StatusCode::OK: return Verdict::kDone;
    case StatusCode::UNAVAILABLE:
      return NeverLeft(status) || RefusesToServe(status) ? Verdict::kNeverServed
                                                         : Verdict::kUnavailable;
    case StatusCode::DEADLINE_EXCEEDED: return Verdict::kMissed;
    case StatusCode::UNAUTHENTICATED: return Verdict::kTokenRejected;
    case StatusCode::PERMISSION_DENIED: return Verdict::kDenied;
    case StatusCode::INVALID_ARGUMENT:
      return BlamesTheToken(status) ? Verdict::kTokenRejected : Verdict::kRefused;
    case StatusCode::NOT_FOUND:
    case StatusCode::ALREADY_EXISTS:
    case StatusCode::FAILED_PRECONDITION:
    case StatusCode::OUT_OF_RANGE: return Verdict::kRefused;
    case StatusCode::UNIMPLEMENTED:
      return RefusesToServe(status) ? Verdict::kNeverServed : Verdict::kRefused;
    case StatusCode::RESOURCE_EXHAUSTED:
      // `database space exceeded` is unknown: such writes were seen applied.
      return TooLarge(status) ? Verdict::kRefused : Verdict::kUnknown;
    default: return Verdict::kUnknown;
  }
}

CallStatus ToCallStatus(const grpc::Status& status, Verdict verdict, const std::string& endpoint) {
  if (verdict == Verdict::kDone)
    return CallStatus{.outcome = Outcome::kDone, .code = 0, .message = ""};
  CallStatus result;
  result.code = status.error_code();
  result.message =
      fmt::format("{}: {}: {}", endpoint, StatusCodeName(result.code), status.error_message());
  const bool refused = verdict == Verdict::kRefused || verdict == Verdict::kDenied;
  result.outcome = refused ? Outcome::kRefused : Outcome::kUnknown;
  result.never_sent = verdict == Verdict::kNeverServed;
  result.too_many_operations = refused && TooManyOperations(status);
  result.too_large = refused && TooLarge(status);
  result.permanent =
      refused && !result.too_many_operations &&
      (verdict == Verdict::kDenied || result.too_large ||
       result.code == StatusCode::INVALID_ARGUMENT || result.code == StatusCode::UNIMPLEMENTED);
  return result;
}

}  // namespace baton::etcd
