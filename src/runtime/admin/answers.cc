#include "runtime/admin/answers.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "runtime/admin/history_proto.h"
#include "runtime/admin/proto_time.h"
#include "runtime/admin/status_proto.h"

namespace baton::runtime {
namespace {

/// For the answers that have a part of the status: whose view it is, and how old.
template <typename Response>
void SetView(const NodeStatus& status, Response* response) {
  response->set_group(status.group);
  response->set_revision(status.revision.value);
  response->set_node(status.node);
  *response->mutable_view_age() = DurationOf(status.view_age);
  response->set_stale(status.stale);
}

}  // namespace

void AnswerStatus(const NodeStatus& status, const v1::GetStatusRequest& request,
                  v1::GetStatusResponse* response) {
  ToProto(status, request.include_shards(), response->mutable_status());
  for (const ShardStatus& shard : status.shards) {
    if (shard.move) *response->add_moves() = ToProto(*shard.move);
  }
}

void AnswerShards(const NodeStatus& status, v1::ListShardsResponse* response) {
  SetView(status, response);
  response->mutable_shards()->Reserve(static_cast<int>(status.shards.size()));
  for (const ShardStatus& shard : status.shards) {
    *response->add_shards() = ToProto(shard, status.at);
  }
}

grpc::Status AnswerShard(const NodeStatus& status, const v1::DescribeShardRequest& request,
                         v1::DescribeShardResponse* response) {
  const ShardId shard{request.shard()};
  for (const ShardStatus& candidate : status.shards) {
    if (candidate.shard != shard) continue;
    SetView(status, response);
    *response->mutable_shard() = ToProto(candidate, status.at);
    for (const Transition& transition : status.recent) {
      if (transition.shard == shard) *response->add_recent() = ToProto(transition);
    }
    return grpc::Status::OK;
  }
  if (status.shards.empty()) {
    return {grpc::StatusCode::UNAVAILABLE,
            "node " + status.node + " does not know the group's shards yet: try again"};
  }
  return {grpc::StatusCode::NOT_FOUND,
          fmt::format("no shard {}: group {} has shards 0 to {}", shard.value, status.group,
                      status.shards.size() - 1)};
}

grpc::Status AnswerEvents(const History* history, const v1::ListEventsRequest& request,
                          v1::ListEventsResponse* response) {
  if (history == nullptr) {
    return {grpc::StatusCode::NOT_FOUND, "this process keeps no history"};
  }
  HistoryQuestion question{.after = request.after()};
  question.limit = kMaxEvents;
  if (request.limit() > 0) question.limit = std::min<std::size_t>(request.limit(), kMaxEvents);
  if (request.has_shard()) question.shard = ShardId{request.shard()};
  ToProto(history->Read(question), response);
  return grpc::Status::OK;
}

}  // namespace baton::runtime
