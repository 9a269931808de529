// The gRPC service baton.v1.RoutingService: passes requests to a RouteServer, and its answers to
// callers. Never blocks.
#pragma once

#include <memory>

#include "access/access.h"
#include "baton/grpc.h"
#include "routing/server/route_server.h"

namespace baton::routing {

/// Adds the service to `builder`. `gate` decides who may call. The service's destructor and its
/// Shutdown shut `routes` down. REQUIRES: the service outlives the server that `builder` starts.
/// Programs that embed a Node use baton/grpc.h instead.
std::unique_ptr<RoutingService> RegisterRoutingService(grpc::ServerBuilder& builder,
                                                       std::shared_ptr<RouteServer> routes,
                                                       access::Gate gate);

}  // namespace baton::routing
