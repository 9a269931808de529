// The file of a node's transitions, also when somebody else moves, empties or fills it.
#include "app/daemon/events_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "app/daemon/line_file.h"
#include "base/clock.h"
#include "base/log.h"

namespace baton::app {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class EventsFileTest : public testing::Test {
 protected:
  EventsFileTest() : folder_(testing::TempDir() + "events" + std::to_string(getpid())) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~EventsFileTest() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name = "events.jsonl") const { return folder_ + "/" + name; }
  void Gain(int count) {
    for (int i = 0; i < count; ++i) {
      ++term_;
      history_->Add({.shard = ShardId{0}, .to = "n2", .term = Term{term_}}, Revision{term_}, {});
    }
  }
  /// Opens the file, writes all events, and closes it.
  void WriteAll(const std::string& path) {
    auto file = EventsFile::Open(path);
    ASSERT_TRUE(file.ok()) << file.error().message;
    file.value()->Follow(history_);
  }
  /// Lets events happen, and waits until the file has that many lines.
  void GainAndAwait(int count, const std::string& path, std::size_t lines) {
    Gain(count);
    const TimePoint end = BootClock::now() + std::chrono::seconds(20);
    while (Lines(path).size() < lines && BootClock::now() < end) {
    }
    ASSERT_THAT(Lines(path), SizeIs(lines));
  }
  static std::string Read(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static std::vector<std::string> Lines(const std::string& path) {
    std::vector<std::string> lines;
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }

  std::string folder_;
  std::shared_ptr<runtime::History> history_ =
      std::make_shared<runtime::History>("orders", "n2", 1000);
  std::int64_t term_ = 0;
};

// Plan: the file is a pipe that nobody reads, so a write stands still once the pipe is full. The
// object's end does not wait for that. When the pipe is read, the thread ends, too.
TEST_F(EventsFileTest, ADiskThatStandsStillHoldsUpNoEnd) {
  ASSERT_EQ(mkfifo(Path().c_str(), 0600), 0);
  const int reader = open(Path().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(fcntl(reader, F_SETPIPE_SZ, 4096), 0);
  Gain(200);  // more than the pipe holds
  testing::internal::CaptureStderr();
  WriteAll(Path());
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("because its disk stands still"));
  ASSERT_EQ(fcntl(reader, F_SETFL, 0), 0);
  std::size_t lines = 0;
  char buffer[4096];
  for (ssize_t count; (count = read(reader, buffer, sizeof buffer)) > 0;) {
    lines += static_cast<std::size_t>(std::count(buffer, buffer + count, '\n'));
  }
  close(reader);
  EXPECT_EQ(lines, 200U) << "it was ended in order";
}

// Plan: the path is a link. It is not followed, and the target stays as it is.
TEST_F(EventsFileTest, FollowsNoLink) {
  std::ofstream(Path("target")) << "mine";
  std::filesystem::create_symlink(Path("target"), Path());
  const auto file = EventsFile::Open(Path());
  ASSERT_FALSE(file.ok());
  EXPECT_THAT(file.error().message, HasSubstr("it is a symbolic link"));
  EXPECT_EQ(Read(Path("target")), "mine");
}

// Plan: even with a umask that forbids nothing, only the file's owner and group can read it.
TEST_F(EventsFileTest, IsForItsOwnerAndGroupAlone) {
  const mode_t before = umask(0);
  WriteAll(Path());
  umask(before);
  struct stat file {};
  ASSERT_EQ(stat(Path().c_str(), &file), 0);
  EXPECT_EQ(file.st_mode, S_IFREG | S_IRUSR | S_IWUSR | S_IRGRP);
}

// Plan: somebody else made the file first, or can write it, or it is a second name of another file.
// Each is refused with a line that says why. A group's right to write the own file goes.
TEST_F(EventsFileTest, TakesNoFileThatOthersControl) {
  const auto refusal = [this] {
    const auto file = EventsFile::Open(Path());
    return file.ok() ? "taken" : file.error().message;
  };
  std::ofstream(Path()) << "";
  ASSERT_EQ(chmod(Path().c_str(), 0660), 0);
  EXPECT_EQ(refusal(), "taken");
  struct stat file {};
  ASSERT_EQ(stat(Path().c_str(), &file), 0);
  EXPECT_EQ(file.st_mode, S_IFREG | S_IRUSR | S_IWUSR | S_IRGRP);
  ASSERT_EQ(chmod(Path().c_str(), 0602), 0);
  EXPECT_EQ(refusal(), "can't write --events-file " + Path() +
                           ": other users may write it (mode 602); remove it, or chmod it to 600");
  ASSERT_EQ(chmod(Path().c_str(), 0600), 0);
  std::filesystem::create_hard_link(Path(), Path("other"));
  EXPECT_EQ(refusal(), "can't write --events-file " + Path() +
                           ": it has 2 names (hard links); remove it, or name another file");
  std::filesystem::remove(Path("other"));
  EXPECT_EQ(refusal(), "taken");
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  ASSERT_EQ(chown(Path().c_str(), 65534, 65534), 0);
  EXPECT_EQ(refusal(), "can't write --events-file " + Path() +
                           ": it belongs to user 65534; remove it, or name another file");
  std::filesystem::remove(Path());
  ASSERT_EQ(mkfifo(Path().c_str(), 0600), 0);
  ASSERT_EQ(chown(Path().c_str(), 65534, 65534), 0);
  EXPECT_THAT(refusal(), HasSubstr("it belongs to user 65534"));
}

// Plan: another user made the file before and holds the lock for writing. The line names the owner,
// not the lock.
TEST_F(EventsFileTest, ALockOfAnotherOwnerIsNotWaitedFor) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  LineFile theirs("--events-file", Path(), 0600);
  ASSERT_TRUE(theirs.Open().ok());
  ASSERT_EQ(chown(Path().c_str(), 65534, 65534), 0);
  EXPECT_THAT(LineFile("--events-file", Path(), 0600).Open().error().message,
              HasSubstr("it belongs to user 65534"));
}

TEST_F(EventsFileTest, HasALineForEachEvent) {
  Gain(3);
  WriteAll(Path());
  const std::vector<std::string> lines = Lines(Path());
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_THAT(lines[0], testing::StartsWith("{\"seq\":1,\"at\":\""));
  EXPECT_THAT(lines[2], HasSubstr("\"term\":3,"));
  EXPECT_THAT(lines[2], testing::EndsWith("\"observer\":\"n2\"}"));
}

// Plan: events come while the object writes; the test waits for the lines and doesn't end it.
TEST_F(EventsFileTest, FollowsWhatHappens) {
  auto file = EventsFile::Open(Path());
  ASSERT_TRUE(file.ok());
  file.value()->Follow(history_);
  for (std::size_t i = 1; i <= 5; ++i) GainAndAwait(1, Path(), i);
}

// Plan: what logrotate does, while the object writes. `create` moves the file aside and makes an
// empty one, `nocreate` makes none, `copytruncate` empties the file. Each time the next events are
// in a file at the path, and the moved files have those before.
TEST_F(EventsFileTest, GoesOnAtItsPathAfterARotation) {
  auto file = EventsFile::Open(Path());
  ASSERT_TRUE(file.ok());
  file.value()->Follow(history_);
  GainAndAwait(2, Path(), 2);
  std::filesystem::rename(Path(), Path("events.jsonl.2"));
  std::ofstream(Path()).close();
  GainAndAwait(3, Path(), 3);
  std::filesystem::rename(Path(), Path("events.jsonl.1"));
  GainAndAwait(4, Path(), 4);
  std::filesystem::resize_file(Path(), 0);
  GainAndAwait(5, Path(), 5);
  EXPECT_THAT(Lines(Path("events.jsonl.2")), SizeIs(2));
  EXPECT_THAT(Lines(Path("events.jsonl.1")), SizeIs(3));
  EXPECT_THAT(Lines(Path()).front(), HasSubstr("\"term\":10,"));
}

// Plan: a process was killed within a line. The next one begins a new line.
TEST_F(EventsFileTest, GoesOnWithAnOldFile) {
  std::ofstream(Path()) << "{\"seq\":1}\n{\"se";
  Gain(1);
  WriteAll(Path());
  const std::vector<std::string> lines = Lines(Path());
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_EQ(lines[1], "{\"se");
  EXPECT_THAT(lines[2], HasSubstr("\"term\":1,"));
}

TEST_F(EventsFileTest, IsRefusedWithOneLineWhereItCantBeWritten) {
  const auto none = EventsFile::Open(Path("no/folder"));
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().message,
            "can't write --events-file " + Path("no/folder") + ": No such file or directory");
  auto first = EventsFile::Open(Path());
  ASSERT_TRUE(first.ok());
  const auto second = EventsFile::Open(Path());
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message, HasSubstr("another process writes it; give each its own"));
}

// Plan: who may only read the file locks it in each way that needs no right to write. The file is
// written all the same. Once the reader is gone, a second writer is refused.
TEST_F(EventsFileTest, NobodyWhoMayOnlyReadItKeepsItFromBeingWritten) {
  std::ofstream(Path()) << "";
  const int reader = open(Path().c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  ASSERT_EQ(flock(reader, LOCK_EX | LOCK_NB), 0);
  struct flock whole {
    .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0, .l_pid = 0
  };
  ASSERT_EQ(fcntl(reader, F_OFD_SETLK, &whole), 0);
  LineFile file("--events-file", Path(), 0600);
  EXPECT_TRUE(file.Append("1\n").ok());
  close(reader);
  EXPECT_TRUE(file.Append("2\n").ok());
  EXPECT_THAT(Lines(Path()), testing::ElementsAre("1", "2"));
  EXPECT_FALSE(LineFile("--events-file", Path(), 0600).Open().ok());
}

/// How many descriptors of this process refer to that file.
int OpenAt(const std::string& path) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(entry.path(), gone) == path) ++count;
  }
  return count;
}

// Plan: opening fails again and again while another object writes the file: no descriptor leaks.
TEST_F(EventsFileTest, ARefusalLeavesNothingOpen) {
  auto first = EventsFile::Open(Path());
  ASSERT_TRUE(first.ok());
  const int before = OpenAt(Path());
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(EventsFile::Open(Path()).ok());
  }
  EXPECT_EQ(OpenAt(Path()), before);
}

// Plan: the process may write no file beyond 4 KiB, so a batch is written in part. Meanwhile
// somebody else empties the file, which had 3 KiB. It then has whole lines, and no zeros.
TEST_F(EventsFileTest, WhatWasWrittenInPartIsTakenBack) {
  signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{4096, before.rlim_max};
  {
    auto file = EventsFile::Open(Path());
    ASSERT_TRUE(file.ok());
    file.value()->Follow(history_);
    GainAndAwait(15, Path(), 15);
    std::filesystem::resize_file(Path(), 0);
    setrlimit(RLIMIT_FSIZE, &small);
    Gain(200);
  }
  setrlimit(RLIMIT_FSIZE, &before);
  for (const std::string& line : Lines(Path())) {
    EXPECT_THAT(line, testing::AllOf(testing::StartsWith("{\"seq\":"), testing::EndsWith("}")));
  }
  const std::string text = Read(Path());
  EXPECT_TRUE(text.empty() || text.back() == '\n');
  EXPECT_EQ(text.find('\0'), std::string::npos);
}

// Plan: a full disk. That is logged once, however many events come. Nobody waits, and the object
// ends at once.
TEST_F(EventsFileTest, AFullDiskIsSaidOnce) {
  testing::internal::CaptureStderr();
  {
    auto file = EventsFile::Open("/dev/full");
    ASSERT_TRUE(file.ok()) << file.error().message;
    file.value()->Follow(history_);
    Gain(5000);
  }
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("can't write --events-file /dev/full: No space left on device"));
  EXPECT_EQ(log.find("can't write"), log.rfind("can't write")) << log;
}

// Plan: the file was deleted and a folder has its name. Once the folder is gone, all events are
// written.
TEST_F(EventsFileTest, GoesOnOnceItCanBeWrittenAgain) {
  testing::internal::CaptureStderr();
  {
    auto file = EventsFile::Open(Path());
    ASSERT_TRUE(file.ok());
    file.value()->Follow(history_);
    GainAndAwait(1, Path(), 1);
    std::filesystem::remove(Path());
    std::filesystem::create_directories(Path());
    Gain(60);
    std::filesystem::remove(Path());
  }
  testing::internal::GetCapturedStderr();
  EXPECT_THAT(Lines(Path()), SizeIs(60));
  EXPECT_THAT(Lines(Path()).back(), HasSubstr("\"term\":61,"));
}

}  // namespace
}  // namespace baton::app
