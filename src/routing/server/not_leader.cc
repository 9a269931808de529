// Statuses for servers that may not serve a shard. In a file of their own, as they need no node.
#include "baton/owner_guard.h"
#include "routing/refusals.h"

namespace baton {
namespace {

using Metadata = std::map<std::string, std::string>;

Metadata Of(const std::string& group, Metadata metadata) {
  if (!group.empty()) metadata[routing::kGroupDetail] = group;
  return metadata;
}

}  // namespace

grpc::Status NotLeaderStatus(const LeaderHint& hint) {
  const std::string number = std::to_string(hint.shard.value);
  const std::string term = std::to_string(hint.term.value);
  return routing::StatusOf({.code = grpc::StatusCode::FAILED_PRECONDITION,
                            .message = "shard " + number + ": led by " + hint.leader +
                                       (hint.address.empty() ? "" : " at " + hint.address) +
                                       " in term " + term + ", not by this node",
                            .reason = routing::kNotLeader,
                            .metadata = Of(hint.group, {{routing::kShardDetail, number},
                                                        {"leaderNode", hint.leader},
                                                        {"leaderAddress", hint.address},
                                                        {"term", term}})});
}

grpc::Status NoLeaderStatus(ShardId shard, const std::string& why,
                            std::chrono::milliseconds retry_after, const std::string& group) {
  const std::string number = std::to_string(shard.value);
  return routing::StatusOf({.code = grpc::StatusCode::UNAVAILABLE,
                            .message = "shard " + number + ": " + why + "; try again",
                            .reason = routing::kNoLeader,
                            .metadata = Of(group, {{routing::kShardDetail, number}}),
                            .retry_after = retry_after});
}

}  // namespace baton
