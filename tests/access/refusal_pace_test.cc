// Which refusals get a line.
#include "access/refusal_pace.h"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

namespace baton::access {
namespace {

constexpr std::chrono::milliseconds kSecond{1000};

// Plan: one caller is refused all the time, another one once; then a second has passed.
TEST(RefusalPace, EachCallerHasALineASecond) {
  RefusalPace pace;
  const TimePoint start{};
  EXPECT_EQ(pace.Next("eve", start), 0U);
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(pace.Next("eve", start + kSecond / 2));
  EXPECT_EQ(pace.Next("bob", start + kSecond / 2), 0U) << "eve hides nobody";
  EXPECT_EQ(pace.Next("eve", start + kSecond), 1000U);
  EXPECT_FALSE(pace.Next("eve", start + kSecond));
}

// Plan: more callers than are remembered, all at once: the others share a line, and its count. Then
// the first ones are forgotten, and what they had left unsaid is in the next shared line.
TEST(RefusalPace, BeyondTheBoundCallersShareALine) {
  RefusalPace pace;
  const TimePoint start{};
  const auto name = [](std::size_t i) { return "caller " + std::to_string(i); };
  for (std::size_t i = 0; i < RefusalPace::kMaxCallers; ++i) {
    EXPECT_EQ(pace.Next(name(i), start), 0U);
    EXPECT_FALSE(pace.Next(name(i), start));
  }
  EXPECT_EQ(pace.Next("one more", start), 0U);
  EXPECT_FALSE(pace.Next("another", start));
  const TimePoint later = start + 2 * kSecond;
  for (std::size_t i = 0; i < RefusalPace::kMaxCallers; ++i) {
    EXPECT_EQ(pace.Next("new " + name(i), later), 0U);
  }
  EXPECT_EQ(pace.Next("one more", later), RefusalPace::kMaxCallers + 1);
}

}  // namespace
}  // namespace baton::access
