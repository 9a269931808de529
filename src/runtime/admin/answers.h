// Fills in the answers to questions that only read, from a node's status or history.
//
// Pure functions; any thread. Requests come from outside, so the functions accept any values. The
// functions append to the lists in `response`, so pass an empty one. On an error, they leave it
// empty.
#pragma once

#include <grpcpp/grpcpp.h>

#include "baton/v1/admin.pb.h"
#include "runtime/control.h"
#include "runtime/history.h"

namespace baton::runtime {

/// Fills in the status of the node and the group, and all live moves, by shard. Fills in the shards
/// only if the request asks for them.
void AnswerStatus(const NodeStatus& status, const v1::GetStatusRequest& request,
                  v1::GetStatusResponse* response);
/// Fills in all shards, by number. The answer has no shards if the process has stopped, or if it is
/// a relay that does not know the group yet.
void AnswerShards(const NodeStatus& status, v1::ListShardsResponse* response);
/// Fills in one shard, and its transitions in NodeStatus::recent. NOT_FOUND: no such shard.
/// UNAVAILABLE: the process has stopped, or is a relay that does not know the group yet.
grpc::Status AnswerShard(const NodeStatus& status, const v1::DescribeShardRequest& request,
                         v1::DescribeShardResponse* response);
/// Fills in one page of the history (History::Read). NOT_FOUND: `history` is null. If the request
/// names a shard that does not exist, the answer has no events; that is no error. The answer has at
/// most kMaxEvents events, even if the limit in the request is 0 (not set) or greater.
grpc::Status AnswerEvents(const History* history, const v1::ListEventsRequest& request,
                          v1::ListEventsResponse* response);

}  // namespace baton::runtime
