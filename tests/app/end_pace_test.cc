// How often a shared guard ends sessions for one state directory.
#include "app/guard/end_pace.h"

#include <chrono>
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

namespace baton::app {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Plan: ten times at once. The next time comes a minute after the first one, and then ten more may
// follow at once, because all ten are a minute old.
TEST(EndPace, LetsTenThroughAndThenWaitsForAMinute) {
  EndPace pace;
  const TimePoint start{seconds(1000)};
  for (std::size_t i = 0; i < EndPace::kMost; ++i) {
    EXPECT_EQ(pace.Wait(start), Duration{0}) << i;
    pace.Begin(start);
  }
  EXPECT_EQ(pace.Wait(start), EndPace::kWithin);
  EXPECT_EQ(pace.Wait(start + seconds(59)), seconds(1));
  const TimePoint later = start + EndPace::kWithin;
  for (std::size_t i = 0; i < EndPace::kMost; ++i) {
    EXPECT_EQ(pace.Wait(later), Duration{0}) << i;
    pace.Begin(later);
  }
  EXPECT_EQ(pace.Wait(later), EndPace::kWithin);
}

// Plan: a file names new sessions for an hour, and the guard acts as soon as it may, which it looks
// for every 200 ms. No minute has more than ten, wherever it begins, and an hour has 600.
TEST(EndPace, NoMinuteHasMoreThanTen) {
  EndPace pace;
  std::vector<TimePoint> began;
  const TimePoint start{seconds(1000)};
  for (TimePoint now = start; now < start + std::chrono::hours(1); now += milliseconds(200)) {
    if (pace.Wait(now) > Duration{0}) continue;
    pace.Begin(now);
    began.push_back(now);
  }
  EXPECT_EQ(began.size(), 60 * EndPace::kMost);
  for (std::size_t i = EndPace::kMost; i < began.size(); ++i) {
    EXPECT_GE(began[i] - began[i - EndPace::kMost], EndPace::kWithin) << i;
  }
}

// Plan: a guard acts every six seconds, ten times a minute.
TEST(EndPace, TenAMinuteNeverWait) {
  EndPace pace;
  TimePoint now{};
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(pace.Wait(now), Duration{0}) << i;
    pace.Begin(now);
    now += seconds(6);
  }
}

}  // namespace
}  // namespace baton::app
