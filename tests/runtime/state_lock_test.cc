// What the lock in the state directory proves about an earlier process, and what it does not.
#include "runtime/state_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace baton::runtime {
namespace {

using ::testing::HasSubstr;

class StateLockTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "baton-lock-XXXXXX";
    directory_ = mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::unique_ptr<StateLock> Take(const std::string& directory, const NodeId& node = "n1") {
    auto taken = StateLock::Take(directory, "orders", node);
    EXPECT_TRUE(taken.ok()) << taken.error().message;
    return taken.ok() ? std::move(taken).value() : nullptr;
  }
  std::string File() const { return directory_ + "/session.lock"; }

  std::string directory_;
};

// Plan: a process records its session and ends. The next process on this boot has the proof.
TEST_F(StateLockTest, ProvesTheDeathOfTheProcessThatHeldIt) {
  auto first = Take(directory_);
  EXPECT_FALSE(first->found().proven_dead);
  ASSERT_TRUE(first->RecordSession(SessionId{4711}).ok());
  ASSERT_TRUE(first->RecordHighest(Revision{99}).ok());
  first.reset();
  auto second = Take(directory_);
  ASSERT_TRUE(second->found().proven_dead) << second->found().no_proof;
  EXPECT_EQ(second->found().proven_dead->value, 4711);
  EXPECT_EQ(second->found().highest_committed.value, 99);
}

// Plan: even with a umask that forbids nothing, others can't read the file.
TEST_F(StateLockTest, TheFileIsForItsOwnerAlone) {
  const mode_t before = umask(0);
  Take(directory_)->RecordSession(SessionId{1}).ok();
  umask(before);
  struct stat file {};
  ASSERT_EQ(stat(File().c_str(), &file), 0);
  EXPECT_EQ(file.st_mode, S_IFREG | S_IRUSR | S_IWUSR);
}

// Plan: while one process holds the lock, another is refused with one line that says what to do.
TEST_F(StateLockTest, RefusesWhileTheHolderLives) {
  auto first = Take(directory_);
  auto second = StateLock::Take(directory_, "orders", "n1");
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(second.error().message, HasSubstr("locked by a living process"));
}

// Plan: the file is copied to another directory: the content is right, but the inode is another
// one.
TEST_F(StateLockTest, ACopiedFileProvesNothing) {
  Take(directory_)->RecordSession(SessionId{1}).ok();
  const std::string other = directory_ + "/other";
  std::filesystem::create_directories(other);
  std::filesystem::copy_file(File(), other + "/session.lock");
  const auto lock = Take(other);
  EXPECT_FALSE(lock->found().proven_dead);
  EXPECT_THAT(lock->found().no_proof, HasSubstr("moved or copied"));
}

// Plan: the holder's file is renamed while it runs. It must not name a place that it does not hold,
// and a new file at the path proves nothing.
TEST_F(StateLockTest, ARenamedFileProvesNothing) {
  auto first = Take(directory_);
  std::filesystem::rename(File(), directory_ + "/elsewhere");
  ASSERT_TRUE(first->RecordSession(SessionId{5}).ok());
  const auto second = Take(directory_);
  EXPECT_FALSE(second->found().proven_dead);
  first.reset();
  std::filesystem::rename(directory_ + "/elsewhere", File());
  EXPECT_FALSE(Take(directory_)->found().proven_dead);
}

// Plan: each byte of the content is damaged in turn. None may become a proof about another session.
TEST_F(StateLockTest, DamageProvesNothing) {
  Take(directory_)->RecordSession(SessionId{4711}).ok();
  std::string good;
  {
    std::ifstream in(File(), std::ios::binary);
    good.assign(std::istreambuf_iterator<char>(in), {});
  }
  const std::size_t used = good.find('\0');
  ASSERT_NE(used, std::string::npos);
  for (std::size_t i = 0; i < used; ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    {
      std::ofstream out(File(), std::ios::binary | std::ios::in);
      out.write(bad.data(), static_cast<std::streamsize>(bad.size()));
    }
    EXPECT_FALSE(Take(directory_)->found().proven_dead) << "byte " << i;
  }
}

// Plan: another node id finds the first one's file.
TEST_F(StateLockTest, AnotherNodesFileProvesNothing) {
  Take(directory_, "n1")->RecordSession(SessionId{7}).ok();
  EXPECT_FALSE(Take(directory_, "n2")->found().proven_dead);
}

// Plan: a path below a file can't be a directory.
TEST_F(StateLockTest, ADirectoryThatCannotBeIsRefusedByName) {
  std::ofstream(directory_ + "/file") << "x";
  const auto taken = StateLock::Take(directory_ + "/file/state", "orders", "n1");
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(taken.error().message, HasSubstr("--state-dir"));
}

}  // namespace
}  // namespace baton::runtime
