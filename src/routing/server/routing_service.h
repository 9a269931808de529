// baton.v1.RoutingService on top of a RouteServer: translates requests and answers; never blocks.
#pragma once

#include <memory>

#include "access/access.h"
#include "baton/grpc.h"
#include "routing/server/route_server.h"

namespace baton::routing {

/// Adds the service to `builder`, for callers that `gate` lets in. Programs that have a Node use
/// baton/grpc.h instead.
std::unique_ptr<RoutingService> RegisterRoutingService(grpc::ServerBuilder& builder,
                                                       std::shared_ptr<RouteServer> routes,
                                                       access::Gate gate);

}  // namespace baton::routing
