// FamilyBuilder: makes Prometheus families. The first label of each series is `group`.
// Single-threaded.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <prometheus/metric_family.h>

namespace baton::runtime {

using Labels = std::vector<prometheus::ClientMetric::Label>;

/// Seconds since 1970, rounded down to milliseconds.
inline double UnixSeconds(std::chrono::system_clock::time_point time) {
  const auto since = std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch());
  return static_cast<double>(since.count()) / 1000.0;
}

class FamilyBuilder {
 public:
  explicit FamilyBuilder(std::string group) : group_(std::move(group)) {}

  // Each of these three functions begins a family. Add appends series to the newest family.
  FamilyBuilder& Counter(std::string name, std::string help) {
    return Begin(std::move(name), std::move(help), prometheus::MetricType::Counter);
  }
  FamilyBuilder& Gauge(std::string name, std::string help) {
    return Begin(std::move(name), std::move(help), prometheus::MetricType::Gauge);
  }
  FamilyBuilder& Histogram(std::string name, std::string help) {
    return Begin(std::move(name), std::move(help), prometheus::MetricType::Histogram);
  }

  /// Adds a series with the label `group`, followed by `labels`. REQUIRES (not checked): there is a
  /// family, and the newest family has counters or gauges.
  FamilyBuilder& Add(double value, Labels labels = {}) {
    prometheus::ClientMetric metric;
    metric.label = std::move(labels);
    const bool counter = families_.back().type == prometheus::MetricType::Counter;
    (counter ? metric.counter.value : metric.gauge.value) = value;
    return Add(std::move(metric));
  }
  /// Adds a complete series, with the label `group` before its other labels. REQUIRES (not
  /// checked): there is a family, and the newest family has the type of the series.
  FamilyBuilder& Add(prometheus::ClientMetric metric) {
    metric.label.insert(metric.label.begin(), {"group", group_});
    families_.back().metric.push_back(std::move(metric));
    return *this;
  }

  /// Returns the families in the order in which they were begun. Call Take once, at the end.
  std::vector<prometheus::MetricFamily> Take() { return std::move(families_); }

 private:
  FamilyBuilder& Begin(std::string name, std::string help, prometheus::MetricType type) {
    families_.push_back({std::move(name), std::move(help), type, {}});
    return *this;
  }

  const std::string group_;
  std::vector<prometheus::MetricFamily> families_;
};

}  // namespace baton::runtime
