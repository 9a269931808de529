// Outcomes of calls to etcd: turns a gRPC status into an outcome, by the status's code and message.
// Only for this folder (it includes gRPC).
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
  kUnknown,        ///< the request may be applied, now or later
  kUnavailable,    ///< as kUnknown, and the endpoint is of no use now
  kMissed,         ///< as kUnknown, because no answer came in time
  kNeverServed,    ///< the request reached no store, so it may go to another endpoint
  kTokenRejected,  ///< not applied; the token is missing, unknown to etcd, or too old
  kDenied,         ///< not applied; the role lacks a right, or etcd has lost the token
};
Verdict VerdictOf(const grpc::Status& status);

/// Returns the CallStatus of a call whose last attempt ended with `status`. `verdict`: the meaning
/// of `status`, from VerdictOf or corrected by the caller. kDone gives Outcome::kDone, kRefused and
/// kDenied give Outcome::kRefused, all others give Outcome::kUnknown. `endpoint`: for the message.
CallStatus ToCallStatus(const grpc::Status& status, Verdict verdict, const std::string& endpoint);

}  // namespace baton::etcd
