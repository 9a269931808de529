// Refusals as gRPC statuses: a code, one line for people, and details for programs.
//
// Pure functions; any thread.
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

// Keys of ErrorInfo's metadata that identify the refused call.
inline constexpr const char* kShardDetail = "shard";
inline constexpr const char* kGroupDetail = "group";

struct Refusal {
  grpc::StatusCode code = grpc::StatusCode::INTERNAL;
  std::string message;
  std::string reason;                                ///< ErrorInfo.reason, such as "STALE_TERM"
  std::map<std::string, std::string> metadata = {};  ///< ErrorInfo.metadata
  /// RetryInfo.retry_delay. A time below 0 counts as 0, and a time above a day counts as a day.
  /// Unset: no RetryInfo.
  std::optional<std::chrono::milliseconds> retry_after = {};
};

/// Returns the refusal as a status, with a google.rpc.Status in its details: see
/// proto/baton/v1/errors.proto.
grpc::Status StatusOf(const Refusal& refusal);

/// The details of a status. A field is empty if the detail is absent or can't be read.
struct RefusalDetails {
  std::string reason;  ///< empty: there is no ErrorInfo, or its domain isn't Baton's
  std::map<std::string, std::string> metadata;  ///< of the same ErrorInfo
  /// From 0 to a day and 999 ms. Any service may have set it, because a RetryInfo has no domain.
  std::optional<std::chrono::milliseconds> retry_after;
};
RefusalDetails DetailsOf(const grpc::Status& status);

/// Whether the refusal concerns a call for this shard of this group. True if the refusal names this
/// shard, and names this group or no group. False: the application passed on a refusal of another
/// service, maybe after it had done something. So that status is the application's own answer.
bool IsOfCall(const RefusalDetails& details, const std::string& group, ShardId shard);
/// Whether the status is FAILED_PRECONDITION with the reason NOT_LEADER, and IsOfCall is true. If
/// so, the call took no effect. REQUIRES: `details` are DetailsOf(status).
bool IsMisroute(const grpc::Status& status, const RefusalDetails& details, const std::string& group,
                ShardId shard);

/// The leader that a NOT_LEADER refusal names.
struct HintedLeader {
  NodeId leader;
  std::string address;
  Term term;
};
/// Returns the hint. nullopt: the reason is not NOT_LEADER, or the address or the term is missing
/// or malformed. The leader's id is not checked, and may be empty. The router must still check the
/// address (IsUsable).
std::optional<HintedLeader> HintOf(const RefusalDetails& details);

}  // namespace baton::routing
