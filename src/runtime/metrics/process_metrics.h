// ProcessMetrics: the resources that this process uses, under the names of Prometheus' own clients.
//
// Each series has the label `group`. Thread-safe. Linux only: each Collect reads /proc, and leaves
// out values that it can't read. Only the start time of the process is read once, by the
// constructor, so it stays the same when somebody sets the wall clock.
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
