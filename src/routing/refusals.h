// gRPC statuses of refusals: the code, one line for people, and the details for programs.
//
// Pure; any thread.
#pragma once

#include <map>
#include <string>

#include <grpcpp/support/status.h>

namespace baton::routing {

struct Refusal {
  grpc::StatusCode code = grpc::StatusCode::INTERNAL;
  std::string message;
  std::string reason;  ///< of ErrorInfo, for example "STALE_TERM"
  std::map<std::string, std::string> metadata;
};

/// The status that carries it: google.rpc.Status in its details, see proto/baton/v1/errors.proto.
grpc::Status StatusOf(const Refusal& refusal);

}  // namespace baton::routing
