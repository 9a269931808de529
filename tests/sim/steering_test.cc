// Bytes that decide a run: what they mean, and that a small change of them is a small change of the
// run.
#include "sim/steering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/dice.h"
#include "sim/simulation.h"

namespace baton::sim {
namespace {

using ::testing::IsEmpty;
using Bytes = std::vector<std::uint8_t>;

constexpr std::uint8_t kKill = static_cast<std::uint8_t>(Mishap::kKill);
constexpr std::uint8_t kStart = static_cast<std::uint8_t>(Mishap::kStart);
constexpr std::uint8_t kPause = static_cast<std::uint8_t>(Mishap::kPause);

RunResult RunOf(const Bytes& bytes) {
  const Steering steering(bytes);
  return Simulation(RunOptions{.seed = steering.seed(),
                               .keep_records = true,
                               .first = steering.mishaps(),
                               .forced = steering.exchanges()})
      .Run();
}

std::vector<std::pair<std::uint32_t, TimePoint>> FirstMishaps(const RunResult& result,
                                                              std::size_t count) {
  std::vector<std::pair<std::uint32_t, TimePoint>> mishaps;
  for (const InjectedFault& fault : result.injected) {
    if (fault.id.source == 0) mishaps.emplace_back(fault.id.kind, fault.at);
  }
  mishaps.resize(std::min(mishaps.size(), count));
  return mishaps;
}

TEST(Steering, BytesMeanASeedMishapsAndExchanges) {
  const Steering steering(Bytes{1,           2,      0, 0, 0, 0, 0, 0,  // the seed
                                30,          kKill,  0, 7,              // after 30 ms
                                132,         kStart, 1, 0,  // after 32 ms + 100 * 100 / 5 ms
                                192 + 7 + 2, 2,      6, 9,  // reply_late, claiming
                                5,           5});           // too short
  EXPECT_EQ(steering.Text(),
            "seed 513\n"
            "  after 30 ms kill, random 7\n"
            "  after 2032 ms start, random 256\n"
            "  reply_late of machine 3, claiming, the one with number 10; length 2 of 8\n");
}

TEST(Steering, AnyBytesMeanSomething) {
  EXPECT_EQ(Steering(Bytes{}).seed(), 0u);
  EXPECT_EQ(Steering(Bytes{7, 1}).seed(), 263u);
  for (int byte = 0; byte < 256; ++byte) {
    const auto each = static_cast<std::uint8_t>(byte);
    const Steering steering(Bytes(8 + 4, each));
    EXPECT_EQ(steering.mishaps().size() + steering.exchanges().size(), 1u);
  }
}

TEST(Steering, ASeedAloneIsTheSeedsOwnRun) {
  EXPECT_EQ(RunOf({3, 0, 0, 0, 0, 0, 0, 0}).trace_hash, Simulation(3).Run().trace_hash);
}

// Plan: change the second of three; the first and the third come at the same times as before.
TEST(Steering, AChangedMishapShiftsNoOther) {
  Bytes bytes{3, 0, 0, 0, 0, 0, 0, 0, 90, kKill, 0, 1, 90, kKill, 0, 2, 90, kPause, 0, 3};
  const auto before = FirstMishaps(RunOf(bytes), 3);
  bytes[13] = kStart;
  const auto after = FirstMishaps(RunOf(bytes), 3);
  ASSERT_EQ(before.size(), 3u);
  ASSERT_EQ(after.size(), 3u);
  EXPECT_EQ(after[0], before[0]);
  EXPECT_EQ(after[1], std::pair(std::uint32_t{kStart}, before[1].second));
  EXPECT_EQ(after[2], before[2]);
}

TEST(Steering, AnExchangeIsStruckWhateverItsChance) {
  World world(1, false);
  Dice dice(world, 7, 3);
  const std::uint32_t kind = Dice::KindOf(Fault::kReplyLate, Phase::kClaiming);
  world.injection().Force({{{.source = 3, .kind = kind, .number = 2}, kForcedShares / 2}});
  const auto strike = [&] {
    return dice.StrikesFor(Fault::kReplyLate, Phase::kClaiming, 0, seconds(2));
  };
  EXPECT_EQ(strike(), std::nullopt);
  EXPECT_EQ(strike(), Duration(seconds(1)));
  EXPECT_EQ(strike(), std::nullopt);
  world.injection().Force({});
  EXPECT_FALSE(world.injection().forces());
}

// Plan: mishaps that only 3.4.23 has, on the etcd that the seed draws.
TEST(Steering, WhatCannotHappenIsPassedOver) {
  for (std::uint8_t seed = 1; seed <= 6; ++seed) {
    Bytes bytes{seed, 0, 0, 0, 0, 0, 0, 0};
    for (const Mishap old : {Mishap::kStuckLeader, Mishap::kWatchSilent, Mishap::kEventsRepeated}) {
      for (const std::uint8_t byte :
           {std::uint8_t{20}, static_cast<std::uint8_t>(old), std::uint8_t{0}, std::uint8_t{0}}) {
        bytes.push_back(byte);
      }
    }
    EXPECT_THAT(RunOf(bytes).violations, IsEmpty()) << "seed " << int{seed};
  }
}

}  // namespace
}  // namespace baton::sim
