// How much of its caller's time a change gets.
#include "runtime/admin/approval.h"

#include <gtest/gtest.h>

#include <chrono>

namespace baton::runtime {
namespace {

using namespace std::chrono_literals;

// Plan: the times at which the kept eighth, its bounds and the bound of a minute begin to count,
// and those around them.
TEST(TimeForChange, KeepsAnEighthForTheAnswerAndIsAMinuteAtMost) {
  EXPECT_EQ(TimeForChange(-1h), 0ms);
  EXPECT_EQ(TimeForChange(0ms), 0ms);
  EXPECT_EQ(TimeForChange(20ms), 0ms);
  EXPECT_EQ(TimeForChange(21ms), 1ms);
  EXPECT_EQ(TimeForChange(160ms), 140ms);
  EXPECT_EQ(TimeForChange(800ms), 700ms);
  EXPECT_EQ(TimeForChange(4s), 3500ms);
  EXPECT_EQ(TimeForChange(10s), 9500ms);
  EXPECT_EQ(TimeForChange(60s), 59'500ms);
  EXPECT_EQ(TimeForChange(60'200ms), 59'700ms);
  EXPECT_EQ(TimeForChange(60'500ms), 60s);
  EXPECT_EQ(TimeForChange(61s), 60s);
  EXPECT_EQ(TimeForChange(Duration::max()), 60s);
}

}  // namespace
}  // namespace baton::runtime
