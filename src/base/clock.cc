#include "base/clock.h"

#include <ctime>

namespace baton {

TimePoint BootClock::now() {
  timespec time{};
  clock_gettime(CLOCK_BOOTTIME, &time);
  return TimePoint(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
}

namespace {
class RealClock final : public Clock {
 public:
  TimePoint Now() const override { return BootClock::now(); }
  WallTime WallNow() const override {
    return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  }
};
}  // namespace

const Clock& Clock::Real() {
  static const RealClock& clock = *new RealClock;  // threads may use it while the process ends
  return clock;
}

}  // namespace baton
