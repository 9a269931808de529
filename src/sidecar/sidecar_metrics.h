// The Prometheus metrics of a sidecar: how often each limit was reached.
#pragma once

#include <memory>
#include <string>

#include <prometheus/collectable.h>

#include "sidecar/server.h"

namespace baton::sidecar {

/// `group`: the label of the metrics. Any thread may read them. REQUIRES: `server` outlives them.
std::shared_ptr<prometheus::Collectable> MakeSidecarMetrics(std::string group,
                                                            const Server& server);

}  // namespace baton::sidecar
