// ShardMetrics: /metrics/shards. See metrics.h for the threads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <prometheus/metric_family.h>

#include "runtime/metrics/event_metrics.h"
#include "runtime/metrics/metrics.h"
#include "runtime/metrics/status_source.h"
#include "runtime/metrics/text.h"

namespace baton::runtime {

class ShardMetrics : public TextCollectable {
 public:
  ShardMetrics(Control& control, std::shared_ptr<StatusSource> source,
               std::shared_ptr<EventMetrics> events, MetricsLimits limits);
  std::vector<prometheus::MetricFamily> Collect() const override;
  void AppendText(std::string& out) const override;

 private:
  /// A shard that this node's own record is in force for.
  struct LedShard {
    std::string name;
    Term term;
    bool leads = false;
    ShardHistory history;
  };
  struct Snapshot {
    std::string group;
    std::vector<LedShard> led;  ///< as many as the limit allows, by number
    std::size_t cut = 0;        ///< series that the limit keeps out
  };
  /// False before the node's first answer.
  bool Look(Snapshot* snapshot) const;

  Control& control_;
  const std::shared_ptr<StatusSource> source_;
  const std::shared_ptr<EventMetrics> events_;
  const MetricsLimits limits_;
};

}  // namespace baton::runtime
