// The gRPC service baton.v1.RoutingService. It passes requests to a RouteServer, and passes the
// server's answers to callers. Only Shutdown and the destructor block. Streams above a limit get
// RESOURCE_EXHAUSTED.
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

/// A RouteServer has 10,000 streams. A caller without the role kOperate may hold 5,000 of them. All
/// callers without this role together may hold 9,000. So operators find room.
inline constexpr access::StreamPlaces::Bounds kRoutePlaces{.of_caller = 5'000, .of_readers = 9'000};

/// The service, with its counts. Several gRPC servers may have the same service.
class CountingRoutingService : public baton::RoutingService {
 public:
  /// The places of WatchRoutes. They may outlive the service. Any thread.
  virtual std::shared_ptr<const access::StreamPlaces> places() const = 0;
  /// The service, to register it with the builder of one more server.
  virtual grpc::Service& service() = 0;
};

/// Adds the service to `builder`. `gate` decides who may call. `places` bounds how many streams one
/// caller without kOperate may have, and how many all these callers together. The service's
/// destructor and its Shutdown shut `routes` down. REQUIRES: `routes` is not null; the service
/// outlives every server that has it. Programs that embed a Node use baton/grpc.h instead.
std::unique_ptr<CountingRoutingService> RegisterRoutingService(
    grpc::ServerBuilder& builder, std::shared_ptr<RouteServer> routes, access::Gate gate,
    access::StreamPlaces::Bounds places = kRoutePlaces);

}  // namespace baton::routing
