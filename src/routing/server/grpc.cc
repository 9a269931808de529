#include "baton/grpc.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/escape.h"
#include "base/grpc/server_limits.h"
#include "base/text_rules.h"
#include "routing/refusals.h"
#include "routing/server/routing_service.h"
#include "runtime/admin/admin_service.h"

namespace baton {

void LimitServer(grpc::ServerBuilder& builder) {
  SetServerLimits(builder);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
}

Status CheckAdminOptions(const AdminOptions& options) {
  constexpr std::size_t kLongestShown = 300;
  if (!options.operators) return Ok();
  for (const std::string& name : *options.operators) {
    if (IsCertificatePattern(name)) continue;
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("operators: \"{}\" can't name a certificate; give {}",
                             OneLine(name, kLongestShown), kCertificatePatterns)};
  }
  return Ok();
}

std::unique_ptr<AdminService> RegisterAdminService(grpc::ServerBuilder& builder, Node& node,
                                                   AdminOptions options) {
  if (!CheckAdminOptions(options)) return nullptr;
  return runtime::RegisterAdminService(builder, node.control(), runtime::GateOf(options));
}

std::unique_ptr<RoutingService> RegisterRoutingService(grpc::ServerBuilder& builder, Node& node,
                                                       RoutingOptions options) {
  const std::size_t streams = std::clamp<std::size_t>(options.max_watchers, 1, 1'000'000);
  return routing::RegisterRoutingService(
      builder, routing::RouteServer::Start(node.control(), {.max_watchers = streams}),
      runtime::GateOf({}),  // reading is open
      {.of_caller = streams, .of_readers = streams});
}

grpc::Status StaleTermStatus(const FenceGuard& guard, ShardId shard, Term term) {
  const Term newest = guard.Highest(shard);
  const std::string number = std::to_string(shard.value);
  return routing::StatusOf(
      {.code = grpc::StatusCode::ABORTED,
       .message = fmt::format(
           "shard {}: term {} is over, term {} was seen, so this leader no longer leads", number,
           term.value, newest.value),
       .reason = routing::kStaleTerm,
       .metadata = {{"shard", number},
                    {"term", std::to_string(term.value)},
                    {"newestTerm", std::to_string(newest.value)}}});
}

}  // namespace baton
