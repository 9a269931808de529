// Callbacks run in order for one shard, in parallel for different shards, and a blocked one delays
// no other.
#include "runtime/dispatcher.h"
#include "runtime/finish_callbacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace baton::runtime {
namespace {

constexpr std::chrono::seconds kPatience{60};

// Plan: several threads queue many functions of a few shards. Each shard's order holds, and no two
// of one shard overlap.
TEST(Dispatcher, RunsOneShardsCallbacksInOrderAndOneAtATime) {
  constexpr int kShards = 8;
  constexpr int kEach = 2000;
  std::vector<std::vector<int>> seen(kShards);
  std::vector<std::atomic<int>> inside(kShards);
  std::atomic<bool> overlapped{false};
  ThreadPoolDispatcher dispatcher(4);
  for (int i = 0; i < kEach; ++i) {
    for (int s = 0; s < kShards; ++s) {
      dispatcher.Run(ShardId{static_cast<std::uint32_t>(s)}, [&, s, i] {
        if (inside[s].fetch_add(1) != 0) overlapped = true;
        seen[s].push_back(i);
        inside[s].fetch_sub(1);
      });
    }
  }
  dispatcher.Finish();
  EXPECT_FALSE(overlapped);
  for (const auto& order : seen) {
    ASSERT_EQ(order.size(), static_cast<std::size_t>(kEach));
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  }
}

// Plan: more shards block than the pool has threads. Another shard's callback still runs.
TEST(Dispatcher, BlockedCallbacksHoldUpNoOtherShard) {
  ThreadPoolDispatcher dispatcher(2);
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  for (std::uint32_t s = 0; s < 20; ++s)
    dispatcher.Run(ShardId{s}, [released] { released.wait(); });
  std::promise<void> ran;
  dispatcher.Run(ShardId{100}, [&] { ran.set_value(); });
  EXPECT_EQ(ran.get_future().wait_for(kPatience), std::future_status::ready);
  EXPECT_LE(dispatcher.threads(), ThreadPoolDispatcher::kMaxThreads);
  release.set_value();
}

// Plan: quick callbacks never make the pool grow.
TEST(Dispatcher, DoesNotGrowForQuickCallbacks) {
  ThreadPoolDispatcher dispatcher(2);
  std::atomic<int> ran{0};
  for (int round = 0; round < 20; ++round) {
    std::promise<void> all;
    const int until = ran + 100;
    for (std::uint32_t s = 0; s < 100; ++s) {
      dispatcher.Run(ShardId{s}, [&, until] {
        if (ran.fetch_add(1) + 1 == until) all.set_value();
      });
    }
    ASSERT_EQ(all.get_future().wait_for(kPatience), std::future_status::ready);
  }
  dispatcher.Finish();
  EXPECT_EQ(ran, 2000);
}

// Plan: Finish returns only after the last callback has returned, and nothing runs after it.
TEST(Dispatcher, FinishWaitsForEverythingGiven) {
  ThreadPoolDispatcher dispatcher(3);
  std::atomic<int> ran{0};
  for (std::uint32_t i = 0; i < 5000; ++i) dispatcher.Run(ShardId{i % 7}, [&] { ++ran; });
  dispatcher.Finish();
  EXPECT_EQ(ran, 5000);
  dispatcher.Run(ShardId{1}, [&] { ++ran; });
  EXPECT_EQ(ran, 5000);
}

// Plan: callbacks of two shards hang at the end of the node. The log says so, and which shards.
// When they return, the end is over. Without such callbacks the log says nothing.
TEST(FinishCallbacks, SaysWhichCallbacksHoldUpTheEnd) {
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  std::vector<std::string> said;
  NodeLog log(
      [&](const LogRecord& record) {
        said.push_back(record.text);
        release.set_value();
      },
      LogLevel::kInfo);
  ThreadPoolDispatcher dispatcher(2);
  dispatcher.Run(ShardId{9}, [released] { released.wait(); });
  dispatcher.Run(ShardId{7}, [released] { released.wait(); });
  FinishCallbacks(dispatcher, log, std::chrono::milliseconds(100));
  ThreadPoolDispatcher quick(2);
  quick.Run(ShardId{3}, [] {});
  FinishCallbacks(quick, log, kPatience);
  log.Finish();
  EXPECT_THAT(said, ::testing::ElementsAre(::testing::AllOf(
                        ::testing::StartsWith("the node stops, and waits until the callbacks of"),
                        ::testing::EndsWith(" shards=2 first_shard=7"))));
}

}  // namespace
}  // namespace baton::runtime
