// The Prometheus metrics of a sidecar: how often each limit was reached (SidecarBounds).
#pragma once

#include <memory>
#include <string>

#include <prometheus/collectable.h>

#include "sidecar/server.h"

namespace baton::sidecar {

/// `group`: the label of the metrics. Any thread. REQUIRES: `server` outlives the result.
std::shared_ptr<prometheus::Collectable> MakeSidecarMetrics(std::string group,
                                                            const Server& server);

}  // namespace baton::sidecar
