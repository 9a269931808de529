// Fills in the answers to calls that only read, from a node's status or history.
//
// Pure functions; any thread. They accept any request. They append to the lists in `response`, so
// pass an empty response. On an error, they leave the response empty.
#pragma once

#include <grpcpp/grpcpp.h>

#include "baton/v1/admin.pb.h"
#include "runtime/control.h"
#include "runtime/history.h"

namespace baton::runtime {

/// Fills in the status of the node and the group, and all live moves, ordered by shard. Fills in
/// the shards only if the request asks for them.
void AnswerStatus(const NodeStatus& status, const v1::GetStatusRequest& request,
                  v1::GetStatusResponse* response);
/// Fills in all shards, ordered by number. The list is empty if the process has stopped, or is a
/// relay that does not know the group yet.
void AnswerShards(const NodeStatus& status, v1::ListShardsResponse* response);
/// Fills in one shard, and the shard's transitions in NodeStatus::recent. NOT_FOUND: no such shard.
/// UNAVAILABLE: the process has stopped, or is a relay that does not know the group yet.
grpc::Status AnswerShard(const NodeStatus& status, const v1::DescribeShardRequest& request,
                         v1::DescribeShardResponse* response);
/// Fills in one page of the history (History::Read). The page has at most kMaxEvents events, even
/// if the request's limit is greater, or is 0 (not set). If the request names a shard that does not
/// exist, the page has no events, and there is no error. NOT_FOUND: `history` is null.
grpc::Status AnswerEvents(const History* history, const v1::ListEventsRequest& request,
                          v1::ListEventsResponse* response);

}  // namespace baton::runtime
