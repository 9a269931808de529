// A node's log: what its sink gets, what a slow or throwing sink costs, and stderr without one.
#include "runtime/node_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/transition_log.h"

namespace baton::runtime {
namespace {

/// Keeps what it is given. Thread-safe.
class Kept {
 public:
  LogSink Sink() {
    return [this](const LogRecord& record) { Take(record); };
  }
  void Take(const LogRecord& record) {
    const std::lock_guard lock(mutex_);
    records_.push_back(record);
  }
  std::vector<LogRecord> Records() {
    const std::lock_guard lock(mutex_);
    return records_;
  }

 private:
  std::mutex mutex_;
  std::vector<LogRecord> records_;
};

Transition Moved() {
  Transition transition;
  transition.shard = ShardId{7};
  transition.reason = Reason::kRebalance;
  transition.from = "n2";
  transition.to = "n1";
  transition.term = Term{815};
  transition.cause.kind = CauseKind::kBalance;
  transition.elect = std::chrono::milliseconds(3);
  return transition;
}

constexpr const char* kMovedText =
    "transition shard=7 reason=rebalance from=n2 to=n1 term=815 actor=\"\" "
    "cause=\"to spread shards evenly\" elect_seconds=0.003 activate_seconds=0";

TEST(NodeLog, GivesItsSinkEachRecordFromTheLevelOn) {
  Kept kept;
  NodeLog log(kept.Sink(), LogLevel::kInfo, {.group = "orders", .node = "n1"});
  const auto before = std::chrono::system_clock::now();
  log.Write(LogLevel::kDebug, "not made");
  log.Info("two\nlines", {{"key", "two words"}});
  TransitionLog(log).OnTransition(Moved());
  log.Finish();
  const std::vector<LogRecord> records = kept.Records();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].level, LogLevel::kInfo);
  EXPECT_GE(records[0].time, before);
  EXPECT_EQ(records[0].text, "two\\nlines key=\"two words\"");
  EXPECT_FALSE(records[0].transition.has_value());
  EXPECT_EQ(records[1].text, kMovedText);
  ASSERT_TRUE(records[1].transition.has_value());
  EXPECT_EQ(records[1].transition->shard, ShardId{7});
  EXPECT_EQ(records[1].transition->term, Term{815});
  EXPECT_EQ(log.Dropped(), 0u);
}

// Plan: the sink stands still with the first record. Three more than the queue holds are written:
// nobody waits, the oldest three are dropped and counted, and the next record tells how many.
TEST(NodeLog, DropsTheOldestRecordsIfItsSinkIsSlow) {
  Kept kept;
  std::promise<void> entered, release;
  std::once_flag once;
  NodeLog log(
      [&](const LogRecord& record) {
        kept.Take(record);
        std::call_once(once, [&] {
          entered.set_value();
          release.get_future().wait();
        });
      },
      LogLevel::kInfo);
  log.Info("first");
  entered.get_future().wait();
  for (std::size_t i = 0; i < NodeLog::kMaxWaiting + 3; ++i) log.Info(std::to_string(i));
  EXPECT_EQ(log.Dropped(), 3u);
  release.set_value();
  log.Finish();
  const std::vector<LogRecord> records = kept.Records();
  ASSERT_EQ(records.size(), 2 + NodeLog::kMaxWaiting);
  EXPECT_EQ(records[1].level, LogLevel::kWarn);
  EXPECT_EQ(records[1].text, "log records were dropped: the log is read too slowly dropped=3");
  EXPECT_EQ(records[2].text, "3");
  EXPECT_EQ(records.back().text, std::to_string(NodeLog::kMaxWaiting + 2));
}

TEST(NodeLog, GoesOnAfterASinkThatThrows) {
  int given = 0;
  NodeLog log(
      [&](const LogRecord&) {
        if (++given == 1) throw std::runtime_error("no");
      },
      LogLevel::kInfo);
  log.Info("one");
  log.Info("two");
  log.Finish();
  EXPECT_EQ(given, 2);
}

// Plan: the sink ends the log that it serves. It would wait for itself, so the process ends.
TEST(NodeLogDeathTest, FinishOnTheSinksThreadEndsTheProcess) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto finish_in_sink = [] {
    NodeLog* self = nullptr;
    NodeLog log([&](const LogRecord&) { self->Finish(); }, LogLevel::kInfo);
    self = &log;
    log.Info("one");
    log.Finish();
  };
  EXPECT_DEATH(finish_in_sink(), "this_thread::get_id");
}

// Plan: two nodes of one program share stderr, so a transition's line says whose it is.
TEST(NodeLog, WritesLinesToStderrWithoutASink) {
  testing::internal::CaptureStderr();
  NodeLog log({}, LogLevel::kInfo, {.group = "orders", .node = "n1"});
  log.Write(LogLevel::kDebug, "not made");
  TransitionLog(log).OnTransition(Moved());
  log.Finish();
  const std::string line = testing::internal::GetCapturedStderr();
  EXPECT_EQ(line.substr(line.find(' ') + 1),
            "info  " + std::string(kMovedText) + " group=orders node=n1\n");
}

// Plan: as in batond, where the process's log has a queue and a level of its own.
TEST(NodeLog, UsesTheProcesssQueueIfThereIsOne) {
  testing::internal::CaptureStderr();
  log::ConfigureLog({.level = LogLevel::kWarn, .format = log::Format::kJson});
  NodeLog log({}, LogLevel::kInfo);
  log.Info("below the process's level");
  log.Warn("written", {{"shard", 7}});
  log::ShutDownLog();
  const std::string line = testing::internal::GetCapturedStderr();
  EXPECT_THAT(line, testing::HasSubstr(R"("level":"warn","message":"written","shard":7})"));
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
}

}  // namespace
}  // namespace baton::runtime
