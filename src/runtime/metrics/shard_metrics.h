// ShardMetrics: the series of Metrics::shards(), for /metrics/shards. The first comment of
// metrics.h has the rules for Collect and AppendText. REQUIRES: `control` outlives this object;
// `source` and `events` are not null.
#pragma once

#include <cstdint>
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
  /// A shard that this node leads according to the status.
  struct LedShard {
    std::string name;
    Term term;
    bool leads = false;        ///< false: the node is suspended, or the status is out of date
    std::uint32_t failed = 0;  ///< failed attempts to activate the shard; 0: it does not fail
    ShardHistory history;
  };
  struct Snapshot {
    std::string group;
    std::vector<LedShard> led;  ///< ordered by number, as many as the limit allows
    std::size_t cut = 0;        ///< the number of series beyond the limit
  };
  /// False: no status came yet.
  bool Look(Snapshot* snapshot) const;

  Control& control_;
  const std::shared_ptr<StatusSource> source_;
  const std::shared_ptr<EventMetrics> events_;
  const MetricsLimits limits_;
};

}  // namespace baton::runtime
