// gRPC statuses of refusals: the code, one line for people, and the details for programs.
//
// Pure; any thread.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include <grpcpp/support/status.h>

#include "baton/types.h"

namespace baton::routing {

inline constexpr const char* kNotLeader = "NOT_LEADER";
inline constexpr const char* kNoLeader = "NO_LEADER";
inline constexpr const char* kStaleTerm = "STALE_TERM";

// Keys of ErrorInfo's metadata that tell what was refused.
inline constexpr const char* kShardDetail = "shard";
inline constexpr const char* kGroupDetail = "group";

struct Refusal {
  grpc::StatusCode code = grpc::StatusCode::INTERNAL;
  std::string message;
  std::string reason;  ///< of ErrorInfo, for example "STALE_TERM"
  std::map<std::string, std::string> metadata = {};
  std::optional<std::chrono::milliseconds> retry_after = {};  ///< of RetryInfo
};

/// The status that carries it: google.rpc.Status in its details, see proto/baton/v1/errors.proto.
grpc::Status StatusOf(const Refusal& refusal);

/// What a status says in its details; what is absent or can't be read is empty.
struct RefusalDetails {
  std::string reason;  ///< Baton's; empty: none, or of another domain
  std::map<std::string, std::string> metadata;
  std::optional<std::chrono::milliseconds> retry_after;
};
RefusalDetails DetailsOf(const grpc::Status& status);

/// Whether the refusal is of a call for this shard of this group. A handler that calls another
/// sharded service may hand that one's refusal on. It says nothing of what the handler did itself:
/// where it names another shard it is the application's own answer.
bool IsOfCall(const RefusalDetails& details, const std::string& group, ShardId shard);
/// Whether a call for this shard of this group was refused as another node leads it; then it took
/// no effect. `details` are the status's.
bool IsMisroute(const grpc::Status& status, const RefusalDetails& details, const std::string& group,
                ShardId shard);

/// Where a refusal of reason NOT_LEADER points to; nullopt: nowhere, or to nothing usable.
struct HintedLeader {
  NodeId leader;
  std::string address;
  Term term;
};
std::optional<HintedLeader> HintOf(const RefusalDetails& details);

}  // namespace baton::routing
