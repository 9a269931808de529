#include "baton/grpc.h"
#include "routing/server/routing_service.h"

namespace baton {

std::unique_ptr<RoutingService> RegisterRoutingService(grpc::ServerBuilder& builder, Node& node,
                                                       RoutingOptions options) {
  return routing::RegisterRoutingService(
      builder,
      routing::RouteServer::Start(node.control(), {.most_watchers = options.most_watchers}));
}

}  // namespace baton
