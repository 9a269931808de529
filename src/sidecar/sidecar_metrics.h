// The sidecar's limits as Prometheus metrics.
#pragma once

#include <memory>
#include <string>

#include <prometheus/collectable.h>

#include "sidecar/server.h"

namespace baton::sidecar {

/// REQUIRES: `server` outlives it.
std::shared_ptr<prometheus::Collectable> MakeSidecarMetrics(std::string group,
                                                            const Server& server);

}  // namespace baton::sidecar
