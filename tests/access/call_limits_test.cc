// How often one caller may ask.
#include "access/call_limits.h"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

namespace baton::access {
namespace {

using namespace std::chrono_literals;
using Kind = CallLimits::Kind;

constexpr TimePoint kStart{1000h};

/// How many of so many calls at one time are taken.
std::uint32_t Taken(CallLimits& limits, const std::string& who, Kind kind, TimePoint now,
                    std::uint32_t calls) {
  std::uint32_t taken = 0;
  for (std::uint32_t i = 0; i < calls; ++i) taken += limits.Take(who, kind, now) ? 1 : 0;
  return taken;
}

// Plan: a burst, then one call each interval, then a burst again after a pause. Calls that are
// refused cost nothing.
TEST(CallLimits, ABurstAndThenARate) {
  for (const Kind kind : kCallKinds) {
    const auto [burst, every] = CallLimits::LimitOf(kind);
    CallLimits limits;
    EXPECT_EQ(Taken(limits, "a", kind, kStart, 3 * burst), burst) << ToString(kind);
    EXPECT_EQ(Taken(limits, "a", kind, kStart + every - 1ns, 3), 0U) << ToString(kind);
    EXPECT_EQ(Taken(limits, "a", kind, kStart + every, 3), 1U) << ToString(kind);
    EXPECT_EQ(Taken(limits, "a", kind, kStart + 3 * every, 9), 2U) << ToString(kind);
    EXPECT_EQ(Taken(limits, "a", kind, kStart + 1h, 3 * burst), burst) << ToString(kind);
  }
}

TEST(CallLimits, OfOneCallerAndKindConcernNoOther) {
  CallLimits limits;
  const auto burst = CallLimits::LimitOf(Kind::kRead).burst;
  EXPECT_EQ(Taken(limits, "a", Kind::kRead, kStart, burst + 1), burst);
  EXPECT_TRUE(limits.Take("a", Kind::kRoutes, kStart));
  EXPECT_TRUE(limits.Take("a", Kind::kDiagnose, kStart));
  EXPECT_EQ(Taken(limits, "b", Kind::kRead, kStart, burst + 1), burst);
  EXPECT_FALSE(limits.Take("a", Kind::kRead, kStart));
}

// Plan: the pace of a page, of batonctl top and of a Prometheus, from one address, for an hour; and
// all Routers of a network that open their streams again at once, twice in a minute.
TEST(CallLimits, HonestCallersOfOneAddressMeetNone) {
  CallLimits limits;
  for (int second = 0; second < 3600; ++second) {
    const TimePoint now = kStart + std::chrono::seconds(second);
    EXPECT_EQ(Taken(limits, "a", Kind::kRead, now, 32 + 10 + 2), 44U) << second;
    if (second % 30 == 0) {
      EXPECT_EQ(Taken(limits, "a", Kind::kRoutes, now, 10'000), 10'000U) << second;
    }
    if (second % 10 == 0) {
      EXPECT_TRUE(limits.Take("a", Kind::kDiagnose, now)) << second;
    }
  }
}

// Plan: more callers than are remembered. The new ones share a limit, so names that are made up
// don't help; those that were there keep theirs. When these have been silent, they make room.
TEST(CallLimits, BeyondTheBoundNewCallersShareALimit) {
  CallLimits limits(100);
  const auto burst = CallLimits::LimitOf(Kind::kDiagnose).burst;
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(limits.Take(std::to_string(i), Kind::kRead, kStart));
  std::uint32_t taken = 0;
  for (int i = 100; i < 200; ++i) {
    taken += Taken(limits, std::to_string(i), Kind::kDiagnose, kStart, 1);
  }
  EXPECT_EQ(taken, burst);
  EXPECT_EQ(limits.size(), 100U);
  EXPECT_EQ(Taken(limits, "7", Kind::kDiagnose, kStart, burst + 1), burst);
  EXPECT_TRUE(limits.Take("new", Kind::kDiagnose, kStart + 2s));
  EXPECT_EQ(limits.size(), 2U) << "7 is not done, and the new one";
  EXPECT_FALSE(limits.Take("7", Kind::kDiagnose, kStart + 2s));
}

TEST(CallLimits, CallersAreCountedByCertificateUserOrHost) {
  EXPECT_EQ(LimitedAs({.peer = "ipv4:10.0.0.1:5"}), "10.0.0.1");
  EXPECT_EQ(LimitedAs({.peer = "ipv4:10.0.0.1:6"}), "10.0.0.1");
  EXPECT_EQ(LimitedAs({.peer = "ipv6:%5B::ffff:10.0.0.1%5D:6"}), "10.0.0.1");
  EXPECT_EQ(LimitedAs({.peer = "ipv6:%5B2001:db8:1:2:3:4:5:6%5D:6"}), "2001:db8:1:2::/64");
  EXPECT_EQ(LimitedAs({.peer = "ipv6:[2001:db8:1:2::7]:6"}), "2001:db8:1:2::/64");
  EXPECT_EQ(LimitedAs({.peer = "ipv4:127.0.0.1:5"}), "this host");
  EXPECT_EQ(LimitedAs({.peer = "ipv4:127.0.0.1:5", .user = 7}), "uid 7");
  EXPECT_EQ(LimitedAs({.peer = "ipv4:127.0.0.1:5", .user = 7, .certificate = "cn:a"}),
            "certificate cn:a");
  EXPECT_EQ(LimitedAs({.peer = "odd:thing"}), "odd");
  EXPECT_EQ(LimitedAs({.peer = ""}), "");
  const std::string one = LimitedAs({.certificate = std::string(100'000, 'a') + "1"});
  EXPECT_LT(one.size(), 400U);
  EXPECT_NE(one, LimitedAs({.certificate = std::string(100'000, 'a') + "2"}));
}

}  // namespace
}  // namespace baton::access
