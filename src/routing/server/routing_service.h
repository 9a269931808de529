// The gRPC service baton.v1.RoutingService: passes requests to a RouteServer, and its answers to
// callers. Only Shutdown and the destructor block. Streams above a limit get RESOURCE_EXHAUSTED.
#pragma once

#include <memory>

#include "access/access.h"
#include "access/stream_places.h"
#include "baton/grpc.h"
#include "routing/server/route_server.h"

namespace grpc {
class Service;
}

namespace baton::routing {

/// Of a RouteServer's 10,000 streams, a caller without the role kOperate may hold 5,000, and all
/// such callers together 9,000. So operators find room.
inline constexpr access::StreamPlaces::Bounds kRoutePlaces{.of_caller = 5'000, .of_readers = 9'000};

/// The service, with its counts. It may have several servers.
class CountingRoutingService : public baton::RoutingService {
 public:
  /// The places of WatchRoutes. They may outlive the service.
  virtual std::shared_ptr<const access::StreamPlaces> places() const = 0;
  /// For a further server's builder.
  virtual grpc::Service& service() = 0;
};

/// Adds the service to `builder`. `gate` decides who may call. `places` bounds how many streams one
/// caller, and all readers together, may have. The service's destructor and its Shutdown shut
/// `routes` down. REQUIRES: the service outlives the server that `builder` starts. Programs that
/// embed a Node use baton/grpc.h instead.
std::unique_ptr<CountingRoutingService> RegisterRoutingService(
    grpc::ServerBuilder& builder, std::shared_ptr<RouteServer> routes, access::Gate gate,
    access::StreamPlaces::Bounds places = kRoutePlaces);

}  // namespace baton::routing
