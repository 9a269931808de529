// The Prometheus metric for connections that the listener turned away.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include <prometheus/collectable.h>

namespace baton::app {

/// Makes the metric. `refused` counts gRPC connections, see ConnectionListener::refused.
std::shared_ptr<prometheus::Collectable> MakeListenerMetrics(
    std::string group, std::shared_ptr<const std::atomic<std::uint64_t>> refused);

}  // namespace baton::app
