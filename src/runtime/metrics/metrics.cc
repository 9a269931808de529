#include "runtime/metrics/metrics.h"

#include "runtime/metrics/event_metrics.h"
#include "runtime/metrics/node_metrics.h"
#include "runtime/metrics/shard_metrics.h"
#include "runtime/metrics/status_source.h"

namespace baton::runtime {

Metrics::Metrics(Control& control, MetricsLimits limits) {
  const auto source = std::make_shared<StatusSource>(control);
  const auto events = std::make_shared<EventMetrics>();
  control.AddObserver(events);
  node_ = std::make_shared<NodeMetrics>(control, source, events);
  shards_ = std::make_shared<ShardMetrics>(control, source, events, limits);
}

}  // namespace baton::runtime
