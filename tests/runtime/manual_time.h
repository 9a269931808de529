// A clock and an executor, both controlled by the test: functions run when the test lets time pass.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "base/clock.h"
#include "runtime/executor.h"

namespace baton::runtime {

class ManualTime final : public Executor, public Clock {
 public:
  TimePoint Now() const override { return now_; }
  void Post(std::function<void()> function) override { Schedule(Duration{0}, std::move(function)); }
  void Schedule(Duration delay, std::function<void()> function) override {
    due_.emplace(now_ + delay, std::move(function));
  }
  void Elapse(Duration time) {
    const TimePoint end = now_ + time;
    while (!due_.empty() && due_.begin()->first <= end) {
      auto next = due_.extract(due_.begin());
      now_ = std::max(now_, next.key());
      next.mapped()();
    }
    now_ = std::max(now_, end);
  }
  /// Time passes while a function runs, so no other function runs.
  void Spend(Duration time) { now_ += time; }

 private:
  TimePoint now_{std::chrono::seconds(1000)};
  std::multimap<TimePoint, std::function<void()>> due_;
};

}  // namespace baton::runtime
