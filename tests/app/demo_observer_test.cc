// What the demo sees of its nodes by their boards.
#include "app/demo/observer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>

namespace baton::app {
namespace {

/// The board of a node that leads all shards in the same term. Its file is deleted at once.
std::unique_ptr<DemoBoard> BoardOfLeader(const std::string& node, std::uint32_t shards) {
  const std::string path =
      testing::TempDir() + "demo_observer_" + std::to_string(getpid()) + "_" + node;
  auto board = DemoBoard::Create(path, shards);
  std::remove(path.c_str());
  if (!board) return nullptr;
  for (auto& word : (*board)->words()) {
    word = WordOf({.shard = {}, .term = Term{7}, .leads = true, .activated = true});
  }
  (*board)->head().changes = 1;
  return std::move(board).value();
}

// Plan: two nodes lead the same 25 shards in the same term. Each of these violations is counted,
// also those that have no line.
TEST(DemoObserver, CountsViolationsBeyondThoseThatItNames) {
  constexpr std::uint32_t kShards = DemoObserver::kMaxViolations + 5;
  const auto first = BoardOfLeader("n1", kShards);
  const auto second = BoardOfLeader("n2", kShards);
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  DemoObserver observer(kShards);
  EXPECT_EQ(observer.Violations().count, 0u);
  observer.Add("n1", *first);
  observer.Add("n2", *second);
  const std::uint64_t looks = observer.Samples();
  const TimePoint deadline = BootClock::now() + std::chrono::minutes(1);
  while (observer.Samples() < looks + 2 && BootClock::now() < deadline) std::this_thread::yield();
  const SeenViolations seen = observer.Violations();
  EXPECT_EQ(seen.count, kShards);
  ASSERT_EQ(seen.lines.size(), DemoObserver::kMaxViolations);
  EXPECT_EQ(seen.lines.front(), "shard 0: n2 leads in term 7, and so does n1");
}

}  // namespace
}  // namespace baton::app
