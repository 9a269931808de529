// The file of a node's transitions, and its bounds.
#include "app/daemon/events_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

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
  void WriteAll(EventsFileOptions options) {
    auto file = EventsFile::Open(std::move(options));
    ASSERT_TRUE(file.ok()) << file.error().message;
    file.value()->Follow(history_);
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

TEST_F(EventsFileTest, HasALineForEachEvent) {
  Gain(3);
  WriteAll({.path = Path(), .most_bytes = 1 << 20});
  const std::vector<std::string> lines = Lines(Path());
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_THAT(lines[0], testing::StartsWith("{\"seq\":1,\"at\":\""));
  EXPECT_THAT(lines[2], HasSubstr("\"term\":3,"));
  EXPECT_THAT(lines[2], testing::EndsWith("\"observer\":\"n2\"}"));
}

// Plan: events come while the object writes; the test waits for the lines and doesn't end it.
TEST_F(EventsFileTest, FollowsWhatHappens) {
  auto file = EventsFile::Open({.path = Path(), .most_bytes = 1 << 20});
  ASSERT_TRUE(file.ok());
  file.value()->Follow(history_);
  for (std::size_t i = 1; i <= 5; ++i) {
    Gain(1);
    const TimePoint end = BootClock::now() + std::chrono::seconds(20);
    while (Lines(Path()).size() < i && BootClock::now() < end) {
    }
    ASSERT_THAT(Lines(Path()), SizeIs(i));
  }
}

// Plan: hundreds of lines into files of 4 KiB, with two older ones kept. No file is larger,
// together they have the last events without a gap, and there is no other file.
TEST_F(EventsFileTest, IsRotatedAtItsBound) {
  Gain(300);
  WriteAll({.path = Path(), .most_bytes = 4096, .keep = 2});
  std::int64_t expected = 0;
  for (const char* name : {"events.jsonl.2", "events.jsonl.1", "events.jsonl"}) {
    ASSERT_TRUE(std::filesystem::exists(Path(name))) << name;
    EXPECT_LE(std::filesystem::file_size(Path(name)), 4096u);
    for (const std::string& line : Lines(Path(name))) {
      const std::int64_t term = std::stoll(line.substr(line.find("\"term\":") + 7));
      if (expected != 0) {
        EXPECT_EQ(term, expected);
      }
      expected = term + 1;
    }
  }
  EXPECT_EQ(expected, 301);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 3);
}

// Plan: a process was killed within a line. The next one begins a new line, and the bound counts
// the bytes that were there.
TEST_F(EventsFileTest, GoesOnWithAnOldFile) {
  std::ofstream(Path()) << "{\"seq\":1}\n{\"se";
  Gain(1);
  WriteAll({.path = Path(), .most_bytes = 1 << 20});
  const std::vector<std::string> lines = Lines(Path());
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_EQ(lines[1], "{\"se");
  EXPECT_THAT(lines[2], HasSubstr("\"term\":1,"));
  history_ = std::make_shared<runtime::History>("orders", "n2", 1000);
  Gain(1);
  WriteAll({.path = Path(), .most_bytes = 100});
  EXPECT_THAT(Lines(Path()), SizeIs(1));
  EXPECT_THAT(Lines(Path("events.jsonl.1")), SizeIs(3));
}

TEST_F(EventsFileTest, IsRefusedWithOneLineWhereItCantBeWritten) {
  const auto none = EventsFile::Open({.path = Path("no/folder"), .most_bytes = 4096});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().message,
            "can't write --events-file " + Path("no/folder") + ": No such file or directory");
  auto first = EventsFile::Open({.path = Path(), .most_bytes = 4096});
  ASSERT_TRUE(first.ok());
  const auto second = EventsFile::Open({.path = Path(), .most_bytes = 4096});
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message, HasSubstr("another process writes it; give each its own"));
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
  auto first = EventsFile::Open({.path = Path(), .most_bytes = 4096});
  ASSERT_TRUE(first.ok());
  const int before = OpenAt(Path());
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(EventsFile::Open({.path = Path(), .most_bytes = 4096}).ok());
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
    auto file = EventsFile::Open({.path = Path(), .most_bytes = 1 << 20});
    ASSERT_TRUE(file.ok());
    file.value()->Follow(history_);
    Gain(15);
    const TimePoint end = BootClock::now() + std::chrono::seconds(20);
    while (Lines(Path()).size() < 15 && BootClock::now() < end) {
    }
    ASSERT_THAT(Lines(Path()), SizeIs(15));
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
    auto file = EventsFile::Open({.path = "/dev/full", .most_bytes = 4096});
    ASSERT_TRUE(file.ok()) << file.error().message;
    file.value()->Follow(history_);
    Gain(5000);
  }
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("can't write --events-file /dev/full: No space left on device"));
  EXPECT_EQ(log.find("can't write"), log.rfind("can't write")) << log;
}

// Plan: a folder has the name of the older file, so the file can't be moved aside: it doesn't grow
// beyond its bound. Once the folder is gone, all events that the history still has are written.
TEST_F(EventsFileTest, GoesOnOnceItCanBeWrittenAgain) {
  std::filesystem::create_directories(Path("events.jsonl.1") + "/full");
  Gain(60);
  WriteAll({.path = Path(), .most_bytes = 4096});
  const std::size_t before = Lines(Path()).size();
  EXPECT_LT(before, 60u);
  EXPECT_LE(std::filesystem::file_size(Path()), 4096u);
  std::filesystem::remove_all(Path("events.jsonl.1"));
  WriteAll({.path = Path(), .most_bytes = 4096, .keep = 9});
  EXPECT_THAT(Lines(Path()).back(), HasSubstr("\"term\":60,"));
}

}  // namespace
}  // namespace baton::app
