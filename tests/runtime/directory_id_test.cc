// The number that a state directory keeps: it outlives every process, and nothing else.
#include "runtime/directory_id.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "runtime/state_lock.h"

namespace baton::runtime {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class DirectoryIdTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "baton-directory-XXXXXX";
    directory_ = mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  /// A node starts in the directory and ends again. Returns what it found.
  StateLockFound Start(const NodeId& node = "n1") {
    auto taken = StateLock::Take(directory_, "orders", node);
    EXPECT_TRUE(taken.ok()) << taken.error().message;
    return taken.ok() ? taken.value()->found() : StateLockFound{};
  }
  std::string Refusal() {
    auto taken = StateLock::Take(directory_, "orders", "n1");
    if (taken.ok()) return "taken";
    EXPECT_EQ(taken.error().code, ErrorCode::kInvalidArgument);
    return taken.error().message;
  }
  std::string File() const { return directory_ + "/directory.id"; }
  std::string Content() const {
    std::ifstream in(File(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void Fill(const std::string& content) const {
    std::ofstream(File(), std::ios::binary | std::ios::trunc) << content;
  }

  std::string directory_;
};

// Plan: a node starts three times, and is then given an empty disk.
TEST_F(DirectoryIdTest, StaysWhileTheDirectoryDoes) {
  const StateLockFound first = Start();
  EXPECT_NE(first.directory, 0u);
  EXPECT_EQ(first.directory_problem, "");
  const std::string content = Content();
  for (int i = 0; i < 2; ++i) {
    const StateLockFound next = Start();
    EXPECT_EQ(next.directory, first.directory);
    EXPECT_EQ(next.directory_problem, "");
  }
  EXPECT_EQ(Content(), content);
  std::filesystem::remove_all(directory_);
  const StateLockFound other = Start();
  EXPECT_NE(other.directory, first.directory);
  EXPECT_NE(other.directory, 0u);
  EXPECT_EQ(other.directory_problem, "");
}

// Plan: the number is gone. If an earlier process had a session, as one of an older version that
// knew no number, one line says what that means. A process that never had one led nothing.
TEST_F(DirectoryIdTest, SaysSoOnceIfItIsMadeBesideAnOldLock) {
  Start();
  std::filesystem::remove(File());
  EXPECT_EQ(Start().directory_problem, "");
  for (const bool in_order : {false, true}) {
    {
      auto taken = StateLock::Take(directory_, "orders", "n1");
      ASSERT_TRUE(taken.ok()) << taken.error().message;
      ASSERT_TRUE(taken.value()->RecordSession({.session = SessionId{7}}).ok());
      if (in_order) {
        ASSERT_TRUE(taken.value()->RecordSession({.session = SessionId{}}).ok());
      }
    }
    std::filesystem::remove(File());
    const StateLockFound found = Start();
    EXPECT_NE(found.directory, 0u);
    EXPECT_THAT(
        found.directory_problem,
        AllOf(HasSubstr("'" + File() + "' was missing beside the lock of an earlier process"),
              HasSubstr("counts as an empty one"),
              HasSubstr("with failover never, this node does not take back by itself what "
                        "it led, and such shards wait for `batonctl shards release`")));
    EXPECT_EQ(found.directory_problem.find('\n'), std::string::npos);
    EXPECT_EQ(Start().directory_problem, "");
  }
}

// Plan: the operator deletes the lock file, as after a wiped etcd.
TEST_F(DirectoryIdTest, OutlivesTheLockFile) {
  const std::uint64_t id = Start().directory;
  std::filesystem::remove(directory_ + "/session.lock");
  EXPECT_EQ(Start().directory, id);
}

// Plan: each byte is damaged in turn, then the end is missing, then all, then there is more. The
// directory gets a new number each time, with one line that says so, and keeps that one.
TEST_F(DirectoryIdTest, IsNewIfTheFileIsDamaged) {
  std::uint64_t id = Start().directory;
  const std::string good = Content();
  const auto damaged = [&](const std::string& content) {
    Fill(content);
    const StateLockFound found = Start();
    EXPECT_NE(found.directory, 0u);
    EXPECT_NE(found.directory, id) << content;
    EXPECT_THAT(found.directory_problem, AllOf(HasSubstr(File()), HasSubstr("was damaged")));
    EXPECT_EQ(found.directory_problem.find('\n'), std::string::npos);
    EXPECT_EQ(Start().directory, found.directory);
    EXPECT_EQ(Start().directory_problem, "");
  };
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    damaged(bad);
  }
  damaged(good.substr(0, good.size() - 1));
  damaged(good.substr(0, 20));
  damaged("");
  damaged(good + "more");
  damaged(std::string(5000, 'x'));
}

// Plan: another node id in the same folder: it has not led what the first one led.
TEST_F(DirectoryIdTest, IsOfOneNode) {
  const std::uint64_t id = Start("n1").directory;
  const StateLockFound other = Start("n2");
  EXPECT_NE(other.directory, id);
  EXPECT_THAT(other.directory_problem, HasSubstr("another node's"));
}

// Plan: texts that no version writes, and the number 0, which means that there is no number.
TEST_F(DirectoryIdTest, ReadsNothingButWhatItWrites) {
  const std::string self = "orders/n1";
  const std::string good = FormatDirectoryId(0x123456789abcdef0, self);
  EXPECT_EQ(ParseDirectoryId(good, self), std::uint64_t{0x123456789abcdef0});
  EXPECT_EQ(ParseDirectoryId(FormatDirectoryId(~std::uint64_t{0}, self), self), ~std::uint64_t{0});
  EXPECT_EQ(ParseDirectoryId(FormatDirectoryId(0, self), self), std::nullopt);
  EXPECT_EQ(ParseDirectoryId(good, "orders/n2"), std::nullopt);
  EXPECT_EQ(ParseDirectoryId("", self), std::nullopt);
  EXPECT_EQ(ParseDirectoryId("baton-directory 1\n", self), std::nullopt);
}

// Plan: even with a umask that forbids nothing, others can neither read nor change it. The rights
// of a group, which Kubernetes gives, are taken away.
TEST_F(DirectoryIdTest, IsForItsOwnerAlone) {
  const mode_t before = umask(0);
  Start();
  umask(before);
  struct stat found {};
  ASSERT_EQ(stat(File().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0600u);
  ASSERT_EQ(chmod(File().c_str(), 0660), 0);
  EXPECT_EQ(Start().directory_problem, "");
  ASSERT_EQ(stat(File().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0600u);
}

// Plan: what may not be believed in place of the file: it stays as it is, and the node says why it
// does not start.
TEST_F(DirectoryIdTest, RefusesWhatOthersMayHavePutThere) {
  Start();
  ASSERT_EQ(chmod(File().c_str(), 0602), 0);
  EXPECT_THAT(Refusal(), AllOf(HasSubstr(File()), HasSubstr("is open to other users")));
  const std::string target = directory_ + "/target";
  std::ofstream(target) << Content();
  std::filesystem::remove(File());
  std::filesystem::create_symlink(target, File());
  EXPECT_THAT(Refusal(), AllOf(HasSubstr(File()), HasSubstr("symbolic link")));
  std::filesystem::remove(File());
  std::filesystem::create_directory(File());
  EXPECT_THAT(Refusal(), HasSubstr("is not a regular file"));
  std::filesystem::remove(File());
  ASSERT_EQ(mkfifo(File().c_str(), 0600), 0);
  EXPECT_THAT(Refusal(), HasSubstr("is not a regular file"));
}

// Plan: the place of the new file is taken by a folder, so that nothing can be written. A file that
// a dead process left half-written there is in nobody's way.
TEST_F(DirectoryIdTest, IsLeftOutIfItCantBeWritten) {
  const std::string written = File() + ".new";
  std::filesystem::create_directory(written);
  const StateLockFound found = Start();
  EXPECT_EQ(found.directory, 0u);
  EXPECT_THAT(found.directory_problem, AllOf(HasSubstr(File()), HasSubstr("can't be written")));
  EXPECT_FALSE(std::filesystem::exists(File()));
  std::filesystem::remove(written);
  std::ofstream(written) << "baton-dir";
  EXPECT_NE(Start().directory, 0u);
  EXPECT_FALSE(std::filesystem::exists(written));
}

// Plan: a guard stands still under its lock, so that the node starts without the exclusive one, and
// another process may be writing. It reads the number, but makes none.
TEST_F(DirectoryIdTest, IsMadeUnderTheLockOnly) {
  const std::uint64_t id = Start().directory;
  const int guard = open((directory_ + "/session.lock").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(flock(guard, LOCK_SH), 0);
  EXPECT_EQ(Start().directory, id);
  std::filesystem::remove(File());
  const StateLockFound found = Start();
  EXPECT_EQ(found.directory, 0u);
  EXPECT_THAT(found.directory_problem, HasSubstr("without the lock"));
  EXPECT_FALSE(std::filesystem::exists(File()));
  close(guard);
  EXPECT_NE(Start().directory, 0u);
}

}  // namespace
}  // namespace baton::runtime
