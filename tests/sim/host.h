// Host: what the simulated parts of one process share: its number, its clock, and the gate through
// which everything that happens in it goes. The gate is shut while the process is paused, and for
// good once it is dead.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "sim/world.h"

namespace baton::sim {

/// A machine's clock: its rate differs from true time by `ppm`, and it began at another time.
class HostClock final : public Clock {
 public:
  HostClock(const World& world, int ppm, Duration offset)
      : world_(world), ppm_(ppm), offset_(offset) {}

  TimePoint Now() const override { return AtTrue(world_.now()); }
  /// Wrong by some seconds; one host's in ten by an hour to either side.
  WallTime WallNow() const override {
    const Duration::rep number = offset_.count() % 20;
    const auto wrong = number == 0   ? std::chrono::hours(1)
                       : number == 1 ? -std::chrono::hours(1)
                                     : std::chrono::seconds(number - 10);
    return kWallStart + wrong +
           std::chrono::floor<std::chrono::seconds>(world_.now().time_since_epoch());
  }
  /// How long the clock takes, in true time and rounded up, to go on by `local`.
  Duration TrueDuration(Duration local) const {
    return Duration(local.count() / (kMillion + ppm_) * kMillion +
                    local.count() % (kMillion + ppm_) * kMillion / (kMillion + ppm_) + 2);
  }

 private:
  static constexpr Duration::rep kMillion = 1'000'000;
  static constexpr WallTime kWallStart{std::chrono::hours(500'000)};  // in 2027
  TimePoint AtTrue(TimePoint at) const {
    const Duration::rep passed = at.time_since_epoch().count();
    return TimePoint(offset_ + Duration(passed + passed / kMillion * ppm_ +
                                        passed % kMillion * ppm_ / kMillion));
  }

  const World& world_;
  const Duration::rep ppm_;
  const Duration offset_;
};

class Host {
 public:
  Host(World& world, const HostClock& clock, int number)
      : world_(world), clock_(clock), number_(number) {}
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  int number() const { return number_; }
  World& world() { return world_; }
  const Clock& clock() const { return clock_; }
  Duration TrueDuration(Duration local) const { return clock_.TrueDuration(local); }
  bool dead() const { return dead_; }
  bool paused() const { return paused_; }

  /// Something reaches the process. It happens now, or when the process goes on, or never if it is
  /// dead.
  void Enter(std::function<void()> what) {
    if (dead_) return;
    if (paused_) {
      waiting_.push_back(std::move(what));
    } else {
      what();
    }
  }
  /// A timer on the host's clock; late if the process is paused.
  void After(Duration local, std::function<void()> what) {
    Arm(world_.now() + clock_.TrueDuration(local), std::move(what));
  }

  void Pause() {
    if (!paused_) stops_.push_back({world_.now(), TimePoint::max()});
    paused_ = true;
  }
  /// The whole machine sleeps: its timers go on where they stood, while CLOCK_BOOTTIME counts.
  void Suspend() {
    Pause();
    asleep_since_ = world_.now();
  }
  /// The events that piled up happen now, in order.
  void Resume() {
    paused_ = false;
    if (!stops_.empty()) stops_.back().second = world_.now();
    if (asleep_since_) slept_ += world_.now() - *asleep_since_;
    asleep_since_.reset();
    std::vector<std::function<void()>> waiting;
    waiting.swap(waiting_);
    for (auto& what : waiting) Enter(std::move(what));
  }
  /// Since then the process has run for `length`: times in which it was stopped don't count.
  /// REQUIRES: it is not paused.
  TimePoint RanSince(Duration length) const {
    TimePoint at = world_.now();
    for (auto stop = stops_.rbegin(); stop != stops_.rend(); ++stop) {
      const Duration ran = at - stop->second;
      if (ran >= length) break;
      length -= ran;
      at = stop->first;
    }
    return at - length;
  }
  void Die() {
    dead_ = true;
    waiting_.clear();
  }

 private:
  void Arm(TimePoint due, std::function<void()> what) {
    world_.At(due, [this, due, before = slept_, what = std::move(what)]() mutable {
      Enter([this, due, before, what = std::move(what)]() mutable {
        if (slept_ == before) return what();
        Arm(due + (slept_ - before), std::move(what));
      });
    });
  }

  World& world_;
  const HostClock& clock_;
  const int number_;
  bool paused_ = false;
  bool dead_ = false;
  std::vector<std::pair<TimePoint, TimePoint>> stops_;
  std::optional<TimePoint> asleep_since_;
  Duration slept_{0};
  std::vector<std::function<void()>> waiting_;
};

}  // namespace baton::sim
