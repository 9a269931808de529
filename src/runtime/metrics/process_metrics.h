// ProcessMetrics: what this process costs, in the names that Prometheus' own clients use.
//
// Thread-safe. Linux: read from /proc at each scrape; what can't be read there is left out.
#pragma once

#include <string>
#include <vector>

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

namespace baton::runtime {

class ProcessMetrics : public prometheus::Collectable {
 public:
  explicit ProcessMetrics(std::string group);
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const std::string group_;
  const double started_;  ///< unix seconds; 0: unknown
};

}  // namespace baton::runtime
