// The public API of metrics. In a file of its own, because only this file needs a Node.
#include "baton/prometheus.h"

#include <utility>

#include "runtime/metrics/metrics.h"
#include "runtime/metrics/registry_mirror.h"

namespace baton {

Result<std::unique_ptr<MetricsRegistration>> RegisterMetrics(prometheus::Registry& registry,
                                                             Node& node, MetricsOptions options) {
  MetricsCollectables collectables = Collectables(node, options.max_shard_series);
  runtime::RegistryMirror::Sources sources = {std::move(collectables.node)};
  if (options.shards) sources.push_back(std::move(collectables.shards));
  return runtime::RegistryMirror::Start(registry, std::move(sources), options.refresh);
}

MetricsCollectables Collectables(Node& node, std::size_t max_shard_series) {
  const runtime::Metrics metrics(node.control(), {.shard_series = max_shard_series});
  return {.node = metrics.node(), .shards = metrics.shards()};
}

}  // namespace baton
