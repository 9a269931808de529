// ProcessMetrics: the resources that this process uses, under the names of Prometheus' own clients.
//
// Each series has the label `group`. Thread-safe. Linux only. Each Collect reads /proc, and leaves
// out values that it can't read. The constructor reads the start time of the process once, so this
// time stays the same if somebody sets the wall clock.
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
  const double started_;  ///< seconds since 1970; 0: unknown
};

}  // namespace baton::runtime
