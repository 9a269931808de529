// BoundCounts: how often each of the HTTP server's limits was reached, and the metric for these
// counts.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include <prometheus/collectable.h>

#include "http/server.h"

namespace baton::http {

/// The server's socket thread writes the counts. Any thread may read them.
struct BoundCounts {
  std::atomic<std::uint64_t> connections{0};
  std::atomic<std::uint64_t> clients{0};
  std::atomic<std::uint64_t> waiting{0};
  std::atomic<std::uint64_t> polls{0};
  std::atomic<std::uint64_t> feeds{0};
  std::atomic<std::uint64_t> peers{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> foreign{0};
  std::atomic<std::uint64_t> denied{0};
  std::atomic<std::uint64_t> slow_requests{0};
  std::atomic<std::uint64_t> slow_readers{0};

  HttpBounds Get() const {
    return {connections, clients, waiting, polls,         feeds,       peers,
            bytes,       foreign, denied,  slow_requests, slow_readers};
  }
};

/// Makes the metric baton_http_bounds_reached_total. `group`: the metric's label. Any thread may
/// read the metric. REQUIRES (not checked): `counts` is not null.
std::shared_ptr<prometheus::Collectable> MakeBoundsMetrics(
    std::string group, std::shared_ptr<const BoundCounts> counts);

}  // namespace baton::http
