// CallStatsRecorder: counts the calls to etcd by method and gRPC code, and adds up their durations.
// Thread-safe; waits only for a short lock.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/status_code.h"
#include "runtime/control.h"

namespace baton::runtime {

class CallStatsRecorder {
 public:
  /// Adds one call. `code`: gRPC's number; all unknown numbers count as "OTHER". REQUIRES: there
  /// are few different methods, because each name is kept for ever.
  void Record(std::string_view method, int code, std::chrono::nanoseconds duration) {
    const double seconds = std::chrono::duration<double>(duration).count();
    std::lock_guard lock(mutex_);
    auto& stats = stats_[{std::string(method), StatusCodeName(code)}];
    ++stats.count;
    stats.sum += seconds;
    std::size_t bucket = 0;
    while (bucket < std::size(Control::CallStats::kBounds) &&
           seconds > Control::CallStats::kBounds[bucket]) {
      ++bucket;
    }
    ++stats.buckets[bucket];
  }
  /// The counts so far, by method and name of the code. Pairs without a call are left out.
  std::map<std::pair<std::string, std::string>, Control::CallStats> Get() const {
    std::lock_guard lock(mutex_);
    return stats_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, Control::CallStats> stats_;
};

}  // namespace baton::runtime
