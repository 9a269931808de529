// Outcomes of calls to etcd: turns a gRPC status into the outcome of a call, by its code and its
// message. Only for this folder (it includes gRPC).
//
// Pure functions and plain values; any thread.
#pragma once

#include <string>

#include <grpcpp/support/status.h>

#include "etcd/transport.h"

namespace baton::etcd {

/// The meaning of a gRPC status for one attempt.
enum class Verdict {
  kDone,
  kRefused,        ///< not applied; etcd answered with an error
  kUnknown,        ///< it may be applied
  kUnavailable,    ///< unknown, and the endpoint is of no use now
  kMissed,         ///< unknown, because no answer came in time
  kNeverServed,    ///< certainly did not reach a store, so it may go to another endpoint
  kTokenRejected,  ///< not applied; etcd does not know the token, or the token is too old
  kDenied,         ///< not applied; the role lacks a right, or etcd has lost the token
};
Verdict VerdictOf(const grpc::Status& status);

/// Returns the final CallStatus of a call whose last attempt ended with `status`, which means
/// `verdict`. Only kRefused and kDenied become Outcome::kRefused. kDone stays kDone. All others
/// become kUnknown.
CallStatus ToCallStatus(const grpc::Status& status, Verdict verdict, const std::string& endpoint);

}  // namespace baton::etcd
