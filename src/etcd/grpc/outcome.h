// Outcomes of calls to etcd: the one place that reads status codes and messages. Only for this
// folder (it includes gRPC).
//
// Pure functions and plain values.
#pragma once

#include <string>

#include <grpcpp/support/status.h>

#include "etcd/transport.h"

namespace baton::etcd {

/// What a gRPC status says about one attempt.
enum class Verdict {
  kDone,
  kRefused,
  kUnknown,
  kUnavailable,    ///< unknown, and the endpoint is of no use now
  kMissed,         ///< unknown: no answer in time
  kNeverServed,    ///< certainly did not reach a store: may go to another endpoint
  kTokenRejected,  ///< not applied; etcd does not know the token, or it is too old
  kDenied,         ///< not applied; for lack of rights, or because etcd lost the token
};
Verdict VerdictOf(const grpc::Status& status);

/// The final CallStatus of a call whose last attempt ended with `verdict`.
CallStatus ToCallStatus(const grpc::Status& status, Verdict verdict, const std::string& endpoint);

}  // namespace baton::etcd
