// The public API of metrics. In a file of its own, because only this file needs a Node.
#include "baton/prometheus.h"

#include "runtime/metrics/metrics.h"

namespace baton {

MetricsCollectables Collectables(Node& node, std::size_t max_shard_series) {
  const runtime::Metrics metrics(node.control(), {.shard_series = max_shard_series});
  return {.node = metrics.node(), .shards = metrics.shards()};
}

}  // namespace baton
