#include "runtime/metrics/registry_mirror.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>

#include <cmath>
#include <stdexcept>
#include <utility>

namespace baton::runtime {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using LabelMap = std::map<std::string, std::string>;

LabelMap LabelsOf(const ClientMetric& metric) {
  LabelMap labels;
  for (const auto& label : metric.label) labels.emplace(label.name, label.value);
  return labels;
}

prometheus::Histogram::BucketBoundaries BoundsOf(const ClientMetric& metric) {
  prometheus::Histogram::BucketBoundaries bounds;
  for (const auto& bucket : metric.histogram.bucket) {
    if (std::isfinite(bucket.upper_bound)) bounds.push_back(bucket.upper_bound);
  }
  return bounds;
}

/// Each bucket's own count. Prometheus' buckets are cumulative.
std::vector<double> BucketCounts(const ClientMetric& metric) {
  std::vector<double> counts;
  double below = 0;
  for (const auto& bucket : metric.histogram.bucket) {
    const auto cumulative = static_cast<double>(bucket.cumulative_count);
    counts.push_back(cumulative - below);
    below = cumulative;
  }
  return counts;
}

}  // namespace

/// One series in the registry, and the values that were last copied to it.
class RegistryMirror::Series {
 public:
  virtual ~Series() = default;
  virtual void Update(const ClientMetric& metric) = 0;

  template <typename T>
  class Of;
  static std::unique_ptr<Series> Make(prometheus::Registry& registry, const MetricFamily& family,
                                      const ClientMetric& metric);
};

template <typename T>
class RegistryMirror::Series::Of : public Series {
 public:
  Of(prometheus::Family<T>& family, T& series) : family_(family), series_(series) {}
  ~Of() override { family_.Remove(&series_); }

  void Update(const ClientMetric& metric) override {
    if constexpr (std::is_same_v<T, prometheus::Gauge>) {
      series_.Set(metric.gauge.value);
    } else if constexpr (std::is_same_v<T, prometheus::Counter>) {
      series_.Increment(metric.counter.value - last_.counter.value);
    } else {
      std::vector<double> grown = BucketCounts(metric);
      const std::vector<double> before = BucketCounts(last_);
      for (std::size_t i = 0; i < before.size(); ++i) grown[i] -= before[i];
      series_.ObserveMultiple(grown, metric.histogram.sample_sum - last_.histogram.sample_sum);
    }
    last_ = metric;
  }

 private:
  prometheus::Family<T>& family_;
  T& series_;
  ClientMetric last_;
};

std::unique_ptr<RegistryMirror::Series> RegistryMirror::Series::Make(prometheus::Registry& registry,
                                                                     const MetricFamily& family,
                                                                     const ClientMetric& metric) {
  const LabelMap labels = LabelsOf(metric);
  const auto registered = [&](auto builder) -> auto& {
    return builder.Name(family.name).Help(family.help).Register(registry);
  };
  if (family.type == MetricType::Counter) {
    auto& target = registered(prometheus::BuildCounter());
    return std::make_unique<Of<prometheus::Counter>>(target, target.Add(labels));
  }
  if (family.type == MetricType::Histogram) {
    auto& target = registered(prometheus::BuildHistogram());
    return std::make_unique<Of<prometheus::Histogram>>(target,
                                                       target.Add(labels, BoundsOf(metric)));
  }
  auto& target = registered(prometheus::BuildGauge());
  return std::make_unique<Of<prometheus::Gauge>>(target, target.Add(labels));
}

Result<std::unique_ptr<MetricsRegistration>> RegistryMirror::Start(
    prometheus::Registry& registry, Sources sources, std::chrono::milliseconds refresh) {
  if (refresh < std::chrono::milliseconds(10)) {
    return Error{ErrorCode::kInvalidArgument,
                 "MetricsOptions::refresh is too short; expected at least 10 ms"};
  }
  std::unique_ptr<RegistryMirror> mirror(new RegistryMirror(registry, std::move(sources)));
  try {
    mirror->Refresh();
  } catch (const std::invalid_argument& clash) {
    return Error{ErrorCode::kInvalidArgument,
                 std::string("the registry refuses a metric of the node (") + clash.what() +
                     "); give the node a registry of its own"};
  }
  mirror->thread_ = std::thread([self = mirror.get(), refresh] { self->Run(refresh); });
  return std::unique_ptr<MetricsRegistration>(std::move(mirror));
}

RegistryMirror::RegistryMirror(prometheus::Registry& registry, Sources sources)
    : registry_(registry), sources_(std::move(sources)) {}

RegistryMirror::~RegistryMirror() {
  {
    const std::lock_guard lock(stop_mutex_);
    stopping_ = true;
  }
  stop_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void RegistryMirror::Run(std::chrono::milliseconds refresh) {
  std::unique_lock lock(stop_mutex_);
  while (!stop_.wait_for(lock, refresh, [this] { return stopping_; })) {
    lock.unlock();
    try {
      Refresh();
    } catch (const std::invalid_argument&) {
      // The program has taken a name since the first refresh: that family is no longer copied.
    }
    lock.lock();
  }
}

void RegistryMirror::Refresh() {
  std::map<Key, std::unique_ptr<Series>> kept;
  std::vector<MetricFamily> families;
  for (const auto& source : sources_) {
    for (MetricFamily& family : source->Collect()) families.push_back(std::move(family));
  }
  if (families.empty()) return;
  const std::lock_guard lock(mutex_);
  try {
    for (const MetricFamily& family : families) Copy(family, kept);
  } catch (...) {
    series_.merge(kept);
    throw;
  }
  series_.swap(kept);  // destroying `kept` removes the series that the node no longer has
}

void RegistryMirror::Copy(const MetricFamily& family,
                          std::map<Key, std::unique_ptr<Series>>& kept) {
  for (const ClientMetric& metric : family.metric) {
    Key key(family.name, LabelsOf(metric));
    auto node = series_.extract(key);
    std::unique_ptr<Series> series =
        node.empty() ? Series::Make(registry_, family, metric) : std::move(node.mapped());
    series->Update(metric);
    kept.emplace(std::move(key), std::move(series));
  }
}

}  // namespace baton::runtime
