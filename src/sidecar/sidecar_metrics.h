// The sidecar's bounds as Prometheus metrics.
#pragma once

#include <memory>
#include <string>

#include <prometheus/collectable.h>

#include "sidecar/server.h"

namespace baton::sidecar {

/// `server` outlives it.
std::shared_ptr<prometheus::Collectable> MakeSidecarMetrics(std::string group,
                                                            const Server& server);

}  // namespace baton::sidecar
