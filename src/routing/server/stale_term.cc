// A fence guard's refusal as a gRPC status. In a file of its own: only this one needs FenceGuard.
#include "baton/grpc.h"
#include "routing/refusals.h"

namespace baton {

grpc::Status StaleTermStatus(const FenceGuard& guard, ShardId shard, Term term) {
  const Term newest = guard.Highest(shard);
  const std::string number = std::to_string(shard.value);
  return routing::StatusOf({.code = grpc::StatusCode::ABORTED,
                            .message = "shard " + number + ": term " + std::to_string(term.value) +
                                       " is over, term " + std::to_string(newest.value) +
                                       " was seen, so this leader no longer leads",
                            .reason = routing::kStaleTerm,
                            .metadata = {{"shard", number},
                                         {"term", std::to_string(term.value)},
                                         {"newestTerm", std::to_string(newest.value)}}});
}

}  // namespace baton
