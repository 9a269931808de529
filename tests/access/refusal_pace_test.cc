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

// Plan: callers under ever new names are refused for ten minutes, a hundred each second. The lines
// are those that all may have, and with what they count no refusal is lost.
TEST(RefusalPace, AllCallersTogetherHaveARate) {
  RefusalPace pace;
  constexpr int kSeconds = 600;
  constexpr std::uint64_t kInASecond = 100;
  constexpr std::uint64_t kLinesLater = kSeconds * (kSecond / RefusalPace::kEvery);
  std::uint64_t lines = 0;
  std::uint64_t told = 0;
  TimePoint now{};
  for (int second = 0; second < kSeconds; ++second) {
    for (std::uint64_t i = 0; i < kInASecond; ++i) {
      const auto before = pace.Next(std::to_string(second) + "/" + std::to_string(i), now);
      if (!before) continue;
      ++lines;
      told += *before;
    }
    now += kSecond;
  }
  EXPECT_LE(lines, RefusalPace::kAtOnce + kLinesLater);
  EXPECT_GE(lines, kLinesLater);
  std::uint64_t last = 0;
  for (int i = 0; i < 2; ++i) {  // a caller of its own, and one of those who share
    now += RefusalPace::kAtOnce * RefusalPace::kEvery;
    for (std::size_t c = 0; c <= RefusalPace::kMaxCallers; ++c) {
      const auto before = pace.Next("last " + std::to_string(c), now);
      ASSERT_TRUE(before);
      last += *before;
    }
  }
  EXPECT_EQ(lines + told + last, kSeconds * kInASecond);
}

}  // namespace
}  // namespace baton::access
