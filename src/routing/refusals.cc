#include "routing/refusals.h"

#include "baton/grpc.h"
#include "baton/v1/errors.pb.h"

namespace baton {
namespace routing {
namespace {

constexpr const char* kErrorInfo = "type.googleapis.com/google.rpc.ErrorInfo";
constexpr const char* kDomain = "baton";

}  // namespace

grpc::Status StatusOf(const Refusal& refusal) {
  v1::ErrorInfo info;
  info.set_reason(refusal.reason);
  info.set_domain(kDomain);
  info.mutable_metadata()->insert(refusal.metadata.begin(), refusal.metadata.end());
  v1::RpcStatus status;
  status.set_code(refusal.code);
  status.set_message(refusal.message);
  google::protobuf::Any& detail = *status.add_details();
  detail.set_type_url(kErrorInfo);
  detail.set_value(info.SerializeAsString());
  return {refusal.code, refusal.message, status.SerializeAsString()};
}

}  // namespace routing

grpc::Status StaleTermStatus(const FenceGuard& guard, ShardId shard, Term term) {
  const Term newest = guard.Highest(shard);
  const std::string number = std::to_string(shard.value);
  return routing::StatusOf({.code = grpc::StatusCode::ABORTED,
                            .message = "shard " + number + ": term " + std::to_string(term.value) +
                                       " is over, term " + std::to_string(newest.value) +
                                       " was seen; this leader leads no more",
                            .reason = "STALE_TERM",
                            .metadata = {{"shard", number},
                                         {"term", std::to_string(term.value)},
                                         {"newestTerm", std::to_string(newest.value)}}});
}

}  // namespace baton
