// The Prometheus metrics of a RouteServer. Any thread may read them.
#pragma once

#include <prometheus/collectable.h>

#include <memory>
#include <string>

#include "routing/server/route_server.h"

namespace baton::http {

/// `group`: the label of the metrics. REQUIRES (not checked): `routes` is not null.
std::shared_ptr<prometheus::Collectable> MakeRouteMetrics(
    std::string group, std::shared_ptr<const routing::RouteServer> routes);

}  // namespace baton::http
