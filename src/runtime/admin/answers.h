// Fills in the answers to questions that only read, from a node's status or history.
//
// Pure functions; any thread. Requests come from outside, so the functions accept any values.
#pragma once

#include <grpcpp/grpcpp.h>

#include "baton/v1/admin.pb.h"
#include "runtime/control.h"
#include "runtime/history.h"

namespace baton::runtime {

/// Fills in the status of the node and the group, and all live moves. The shards come only if the
/// request asks for them.
void AnswerStatus(const NodeStatus& status, const v1::GetStatusRequest& request,
                  v1::GetStatusResponse* response);
/// The answer has no shards if the node does not know the shards yet, or has stopped.
void AnswerShards(const NodeStatus& status, v1::ListShardsResponse* response);
/// NOT_FOUND: no such shard. UNAVAILABLE: the node does not know the shards yet, or has stopped.
grpc::Status AnswerShard(const NodeStatus& status, const v1::DescribeShardRequest& request,
                         v1::DescribeShardResponse* response);
/// NOT_FOUND: `history` is null. A shard that does not exist has no events. The answer has at most
/// kMaxEvents events, also if the request sets no limit (0) or a greater one.
grpc::Status AnswerEvents(const History* history, const v1::ListEventsRequest& request,
                          v1::ListEventsResponse* response);

}  // namespace baton::runtime
