// The gRPC service baton.v1.RoutingService (proto/baton/v1/routing.proto). It passes requests to a
// RouteServer, and passes the server's answers to callers. Thread-safe. Only Shutdown and the
// destructor block. Streams above a limit, and all streams after Shutdown, get RESOURCE_EXHAUSTED.
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

/// The most streams of one caller without the role kOperate, and of all callers without this role
/// together. So operators find room among the 10,000 streams that a RouteServer has by default.
inline constexpr access::StreamPlaces::Bounds kRoutePlaces{.of_caller = 5'000, .of_readers = 9'000};

/// The service, with its counts. Several gRPC servers may have the same service.
class CountingRoutingService : public baton::RoutingService {
 public:
  /// The places of the streams of WatchRoutes. They may outlive the service. Any thread.
  virtual std::shared_ptr<const access::StreamPlaces> places() const = 0;
  /// The service. Register it with the builder of each further server.
  virtual grpc::Service& service() = 0;
};

/// Adds the service to `builder`. `gate` decides who may call. `places` bounds the streams of
/// callers without the role kOperate. The service's destructor and its Shutdown shut `routes` down.
/// REQUIRES: `routes` is not null; the service outlives every server that has it. Programs that
/// embed a Node use baton/grpc.h instead.
std::unique_ptr<CountingRoutingService> RegisterRoutingService(
    grpc::ServerBuilder& builder, std::shared_ptr<RouteServer> routes, access::Gate gate,
    access::StreamPlaces::Bounds places = kRoutePlaces);

}  // namespace baton::routing
