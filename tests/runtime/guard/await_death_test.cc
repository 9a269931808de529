// A guard reads a node's state directory: what it learns, and when.
#include "runtime/guard/await_death.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/crc.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "runtime/state_lock.h"

namespace baton::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class AwaitDeathTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "baton-guard-XXXXXX";
    directory_ = mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::unique_ptr<StateLock> Node(bool guarded = true) {
    auto taken = StateLock::Take(directory_, "orders", "n1", {.guarded = guarded});
    EXPECT_TRUE(taken.ok()) << taken.error().message;
    return std::move(taken).value();
  }
  Result<Death> Await() const { return AwaitDeath(directory_, LockTrust::kKnownFileSystems); }
  std::future<Result<Death>> Begin() const {
    return std::async(std::launch::async, [this] { return Await(); });
  }
  static bool StillWaits(const std::future<Result<Death>>& guard) {
    return guard.wait_for(std::chrono::milliseconds(50)) == std::future_status::timeout;
  }
  std::string WhyNot() const {
    const auto death = Await();
    return death.ok() ? "proven" : death.error().message;
  }

  std::string directory_;
};

// Plan: a process holds the lock and is killed. The guard waits until then, and learns its session
// and the one before, and when it died. Another guard, which comes later, does not learn when.
TEST_F(AwaitDeathTest, ComesWithTheKill) {
  const pid_t node = fork();
  if (node == 0) {
    auto lock = Node();
    lock->RecordSession({.session = SessionId{5}, .replaces = SessionId{4}}).ok();
    std::ofstream(directory_ + "/written") << "yes";
    pause();
    _exit(0);
  }
  while (!std::filesystem::exists(directory_ + "/written")) sched_yield();
  auto guard = Begin();
  EXPECT_TRUE(StillWaits(guard));
  const TimePoint alive = Clock::Real().Now();
  kill(node, SIGKILL);
  const auto death = guard.get();
  waitpid(node, nullptr, 0);
  ASSERT_TRUE(death.ok()) << death.error().message;
  EXPECT_EQ(death.value().group, "orders");
  EXPECT_EQ(death.value().node, "n1");
  EXPECT_THAT(death.value().sessions, ElementsAre(SessionId{5}, SessionId{4}));
  ASSERT_TRUE(death.value().known_since);
  EXPECT_GE(*death.value().known_since, alive);
  EXPECT_LE(*death.value().known_since, Clock::Real().Now());
  EXPECT_THAT(Await().value().sessions, ElementsAre(SessionId{5}, SessionId{4}));
  EXPECT_FALSE(Await().value().known_since);
}

// Plan: a FIFO has the lock file's name. Nobody waits for somebody who writes to it.
TEST_F(AwaitDeathTest, AFifoIsNoLock) {
  ASSERT_EQ(mkfifo((directory_ + "/session.lock").c_str(), 0600), 0);
  EXPECT_THAT(WhyNot(), HasSubstr("is not a regular file"));
  const auto note = StateLock::NoteIn(directory_, "orders");
  ASSERT_FALSE(note.ok());
  EXPECT_THAT(note.error().message, HasSubstr("is not a regular file"));
}

// Plan: a child that was forked shares the lock. While it lives, nobody is proven dead.
TEST_F(AwaitDeathTest, WaitsForAForkedChild) {
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  const pid_t node = fork();
  if (node == 0) {
    auto lock = Node();
    lock->RecordSession({.session = SessionId{5}}).ok();
    const pid_t child = fork();
    if (child == 0) {
      pause();
      _exit(0);
    }
    static_cast<void>(!write(pipes[1], &child, sizeof child));
    pause();
    _exit(0);
  }
  pid_t child = 0;
  ASSERT_EQ(read(pipes[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
  kill(node, SIGKILL);
  waitpid(node, nullptr, 0);
  auto guard = Begin();
  EXPECT_TRUE(StillWaits(guard));
  kill(child, SIGKILL);
  EXPECT_TRUE(guard.get().ok());
  close(pipes[0]);
  close(pipes[1]);
}

// Plan: a node that left in order has no session to be ended.
TEST_F(AwaitDeathTest, OfANodeThatLeftInOrderNamesNobody) {
  {
    auto node = Node();
    ASSERT_TRUE(node->RecordSession({.session = SessionId{5}}).ok());
    ASSERT_TRUE(node->RecordSession({}).ok());
  }
  const auto death = Await();
  ASSERT_TRUE(death.ok()) << death.error().message;
  EXPECT_THAT(death.value().sessions, IsEmpty());
}

// Plan: each reason not to act: no file; an empty one; a node that wants no guard; a file of a
// version that knew no guards; one whose leaderships another process acts on; a copy; a damaged
// file; one that others may write.
TEST_F(AwaitDeathTest, WithoutAProofNothingIsNamed) {
  EXPECT_EQ(Await().error().code, ErrorCode::kNotFound);
  const std::string path = StateFileIn(directory_);
  Node();
  EXPECT_THAT(WhyNot(), HasSubstr("is empty: its node had no session yet"));
  EXPECT_EQ(Await().error().code, ErrorCode::kNotFound);
  Node(false)->RecordSession({.session = SessionId{5}}).ok();
  EXPECT_THAT(WhyNot(), HasSubstr("wants no guard"));
  Node()->RecordSession({.session = SessionId{5}, .external = true}).ok();
  EXPECT_THAT(WhyNot(), HasSubstr("another process acts"));
  Node()->RecordSession({.session = SessionId{5}}).ok();
  EXPECT_EQ(WhyNot(), "proven");

  const std::string other = directory_ + "/other";
  std::filesystem::create_directory(other);
  std::filesystem::copy_file(path, StateFileIn(other));
  EXPECT_THAT(AwaitDeath(other, LockTrust::kKnownFileSystems).error().message,
              HasSubstr("moved or copied"));
  std::filesystem::permissions(path, std::filesystem::perms::all);
  EXPECT_THAT(WhyNot(), HasSubstr("is open to other users"));
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  std::filesystem::resize_file(path, 100);
  EXPECT_THAT(WhyNot(), HasSubstr("damaged"));
  std::filesystem::remove(path);
  std::filesystem::create_symlink(StateFileIn(other), path);
  EXPECT_THAT(WhyNot(), HasSubstr("can't be opened"));
}

// Plan: what the version before guards wrote, byte for byte. It proves the death to the node's next
// process; guards are named nobody, as it does not say whether another process acts. So what its
// session led waits for the lock delay. That holds also once the next process has named a session
// of its own.
TEST_F(AwaitDeathTest, AFileOfAnEarlierVersionNamesNobody) {
  Node()->RecordSession({.session = SessionId{5}}).ok();
  const std::string path = StateFileIn(directory_);
  std::ifstream file(path);
  StateFile content = *ParseStateFile({std::istreambuf_iterator<char>(file), {}});
  const std::string body = "orders/n1\n" + content.boot + "\n" + content.place + "\n5\n9\n";
  boost::crc_32_type crc;
  crc.process_bytes(body.data(), body.size());
  std::ofstream(path) << "baton-state 1\n" << std::hex << crc.checksum() << "\n" << body;
  std::filesystem::resize_file(path, kStateFileSize);
  EXPECT_THAT(WhyNot(), HasSubstr("wants no guard"));
  EXPECT_THAT(Node()->found().proven_dead, ElementsAre(SessionId{5}));
  EXPECT_THAT(Node()->found().stopped_sessions, IsEmpty());
  Node()->RecordSession({.session = SessionId{6}}).ok();
  EXPECT_THAT(Await().value().sessions, ElementsAre(SessionId{6}));
  EXPECT_THAT(Node()->found().stopped_sessions, ElementsAre(SessionId{6}));
}

}  // namespace
}  // namespace baton::runtime
