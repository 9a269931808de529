// RegistryMirror: copies the series of collectables to a prometheus-cpp registry.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <prometheus/collectable.h>
#include <prometheus/registry.h>

#include "baton/prometheus.h"
#include "baton/result.h"

namespace baton::runtime {

/// Thread-safe. Its thread copies every `refresh`. The destructor removes the series.
class RegistryMirror : public MetricsRegistration {
 public:
  using Sources = std::vector<std::shared_ptr<prometheus::Collectable>>;

  /// kInvalidArgument: the registry has a metric of the same name and another type.
  static Result<std::unique_ptr<MetricsRegistration>> Start(prometheus::Registry& registry,
                                                            Sources sources,
                                                            std::chrono::milliseconds refresh);
  ~RegistryMirror() override;
  RegistryMirror(const RegistryMirror&) = delete;
  RegistryMirror& operator=(const RegistryMirror&) = delete;

  void Refresh() override;

 private:
  class Series;
  using Key = std::pair<std::string, std::map<std::string, std::string>>;  // name, labels

  RegistryMirror(prometheus::Registry& registry, Sources sources);
  void Copy(const prometheus::MetricFamily& family, std::map<Key, std::unique_ptr<Series>>& kept);
  void Run(std::chrono::milliseconds refresh);

  prometheus::Registry& registry_;
  const Sources sources_;
  std::mutex mutex_;  // guards series_
  std::map<Key, std::unique_ptr<Series>> series_;

  std::mutex stop_mutex_;  // guards stopping_
  std::condition_variable stop_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace baton::runtime
