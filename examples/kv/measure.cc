#include "measure.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iomanip>

namespace kv {
namespace {

double Milliseconds(SteadyTime::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

// Sorts the values. Returns 0 if there are none.
double Percentile(std::vector<double>& values, double percent) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(percent / 100 * static_cast<double>(values.size()));
  return values[std::min(rank, values.size() - 1)];
}

}  // namespace

void Measure::Add(const Attempted& attempted) {
  const std::lock_guard lock(mutex_);
  const auto since = std::chrono::duration_cast<std::chrono::seconds>(attempted.done - begun_);
  Second& second = seconds_[since.count()];
  if (attempted.error == 0) {
    second.milliseconds.push_back(Milliseconds(attempted.done - attempted.due));
    answered_.push_back(attempted.done);
  } else {
    ++second.failed;
    ++failed_;
    failures_.emplace_back(attempted.due, attempted.done);
    Failures& failures = errors_[attempted.error];
    if (++failures.count == 1) failures.first = attempted.message;
  }
}

void Measure::Print() {
  const std::lock_guard lock(mutex_);
  std::vector<double> all;
  std::printf("%8s %8s %8s %9s %9s\n", "second", "done", "failed", "p99 ms", "most ms");
  for (auto& [number, second] : seconds_) {
    all.insert(all.end(), second.milliseconds.begin(), second.milliseconds.end());
    std::printf("%8lld %8zu %8llu %9.1f %9.1f\n", static_cast<long long>(number),
                second.milliseconds.size(), static_cast<unsigned long long>(second.failed),
                Percentile(second.milliseconds, 99), Percentile(second.milliseconds, 100));
  }
  std::sort(answered_.begin(), answered_.end());
  double gap = 0;
  for (std::size_t i = 1; i < answered_.size(); ++i) {
    gap = std::max(gap, Milliseconds(answered_[i] - answered_[i - 1]));
  }
  std::printf("latency ms: p50 %.1f, p99 %.1f, p99.9 %.1f, most %.1f\n", Percentile(all, 50),
              Percentile(all, 99), Percentile(all, 99.9), Percentile(all, 100));
  std::printf("longest time without any answer: %.1f ms\n", gap);
  for (const auto& [error, failures] : errors_) {
    std::printf("failed with status %d: %llu, the first: %s\n", error,
                static_cast<unsigned long long>(failures.count), failures.first.c_str());
  }
}

bool Measure::WriteFailures(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto seconds = [](SteadyTime time) {
    return std::chrono::duration<double>(time.time_since_epoch()).count();
  };
  std::ofstream file(path);
  file << std::fixed << std::setprecision(6);
  for (const auto& [due, done] : failures_) file << seconds(due) << ' ' << seconds(done) << '\n';
  file.close();
  return !file.fail();
}

std::uint64_t Measure::done() {
  const std::lock_guard lock(mutex_);
  return answered_.size();
}

std::uint64_t Measure::failed() {
  const std::lock_guard lock(mutex_);
  return failed_;
}

}  // namespace kv
