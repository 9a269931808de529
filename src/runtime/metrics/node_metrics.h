// NodeMetrics: the series of Metrics::node(), for /metrics. The first comment of metrics.h has the
// rules for Collect. REQUIRES: `control` outlives this object; `source` and `events` are not null.
#pragma once

#include <memory>
#include <vector>

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include "runtime/metrics/event_metrics.h"
#include "runtime/metrics/status_source.h"

namespace baton::runtime {

class NodeMetrics : public prometheus::Collectable {
 public:
  NodeMetrics(Control& control, std::shared_ptr<StatusSource> source,
              std::shared_ptr<EventMetrics> events);
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  Control& control_;
  const std::shared_ptr<StatusSource> source_;
  const std::shared_ptr<EventMetrics> events_;
};

}  // namespace baton::runtime
