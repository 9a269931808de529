// The log's two formats, and how records reach stderr: each as one line.
#include "base/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/json.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <latch>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "base/escape.h"
#include "base/stderr_now.h"
#include "base/timestamp.h"

namespace baton::log {
namespace {

constexpr std::chrono::system_clock::time_point kTime{std::chrono::milliseconds(1'767'323'045'678)};

// Plan: both ends of the clock, the last millisecond before 1970 and the first after it, and parts
// of a millisecond.
TEST(Timestamp, TakesAnyTime) {
  using Time = std::chrono::system_clock::time_point;
  EXPECT_EQ(Timestamp(Time::max()), "2262-04-11T23:47:16.854Z");
  EXPECT_EQ(Timestamp(Time::min()), "1677-09-21T00:12:43.145Z");
  EXPECT_EQ(Timestamp(Time{}), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(Timestamp(Time{std::chrono::nanoseconds(1'999'999)}), "1970-01-01T00:00:00.001Z");
  EXPECT_EQ(Timestamp(Time{std::chrono::nanoseconds(-1)}), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(Timestamp(Time{std::chrono::seconds(-1)}), "1969-12-31T23:59:59.000Z");
}

TEST(Log, TextIsOneReadableLine) {
  EXPECT_EQ(FormatText(kTime, Level::kInfo, "shard gained", {}),
            "2026-01-02T03:04:05.678Z info  shard gained");
  EXPECT_EQ(FormatText(kTime, Level::kError, "lost",
                       {{"shard", 7U},
                        {"from", "n1"},
                        {"why", "two words"},
                        {"empty", ""},
                        {"quote", "a\"b\\c"},
                        {"ok", false},
                        {"seconds", 0.25},
                        {"delta", -3}}),
            "2026-01-02T03:04:05.678Z error lost shard=7 from=n1 why=\"two words\" empty=\"\" "
            "quote=\"a\\\"b\\\\c\" ok=false seconds=0.25 delta=-3");
}

TEST(Log, TextKeepsToOneLine) {
  EXPECT_EQ(FormatText(kTime, Level::kWarn, "a\nb\x1b[31m", {{"k", "x\r\ny"}}),
            "2026-01-02T03:04:05.678Z warn  a\\nb\\u001b[31m k=\"x\\r\\ny\"");
}

// Plan: a message repeats the reason that somebody gave, which imitates fields.
TEST(Log, WordsInAMessageDoNotLookLikeFields) {
  for (const std::string forged : {R"(by="uid 0" done=true)", "by=root", R"(" by="uid 0)"}) {
    std::string quoted;
    for (const char c : forged) quoted += c == '"' ? "\\\"" : std::string(1, c);
    EXPECT_EQ(FormatMessage("void: " + forged, {{"by", "uid 1000"}}),
              "\"void: " + quoted + "\" by=\"uid 1000\"");
  }
}

TEST(Log, JsonIsOneObject) {
  EXPECT_EQ(FormatJson(kTime, Level::kInfo, "shard gained",
                       {{"shard", 7U}, {"to", "n1"}, {"ok", true}, {"seconds", 0.25}}),
            R"({"time":"2026-01-02T03:04:05.678Z","level":"info","message":"shard gained",)"
            R"("shard":7,"to":"n1","ok":true,"seconds":0.25})");
}

TEST(Log, JsonSurvivesAnyBytes) {
  // Plan: every byte, alone and in a row, and some broken UTF-8. Each line parses as strict JSON,
  // and valid UTF-8 reads back unchanged.
  std::vector<std::string> texts = {"\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x98\x80",
                                    "\xC0\x80",
                                    "\xED\xA0\x80",
                                    "\xF5\x80\x80\x80",
                                    "\xE2\x82",
                                    std::string("nul\0in", 6)};
  std::string all;
  for (int byte = 0; byte < 256; ++byte) {
    texts.emplace_back(1, static_cast<char>(byte));
    all += static_cast<char>(byte);
  }
  texts.push_back(all);
  for (const std::string& text : texts) {
    const std::string line = FormatJson(kTime, Level::kInfo, text, {{"k", text}});
    EXPECT_EQ(line.find('\n'), std::string::npos);
    boost::system::error_code error;
    const boost::json::value parsed = boost::json::parse(line, error);
    ASSERT_FALSE(error) << line;
    EXPECT_EQ(parsed.at("message"), parsed.at("k"));
  }
  const std::string line = FormatJson(kTime, Level::kInfo, texts[0], {});
  EXPECT_EQ(boost::json::parse(line).at("message").as_string(), texts[0]);
}

TEST(Log, JsonHasNullForNumbersItCannotSay) {
  EXPECT_EQ(FormatJson(kTime, Level::kInfo, "m",
                       {{"a", std::numeric_limits<double>::infinity()},
                        {"b", std::numeric_limits<std::uint64_t>::max()},
                        {"c", std::numeric_limits<std::int64_t>::min()}}),
            R"({"time":"2026-01-02T03:04:05.678Z","level":"info","message":"m","a":null,)"
            R"("b":18446744073709551615,"c":-9223372036854775808})");
}

TEST(Log, WordsAreReadBack) {
  for (const Level level :
       {Level::kTrace, Level::kDebug, Level::kInfo, Level::kWarn, Level::kError}) {
    EXPECT_EQ(ParseLevel(ToString(level)).value(), level);
  }
  EXPECT_FALSE(ParseLevel("INFO").ok());
  EXPECT_EQ(ParseFormat("json").value(), Format::kJson);
  EXPECT_FALSE(ParseFormat("yaml").ok());
}

TEST(Log, EveryRecordReachesStderrAsOneLine) {
  // Plan: four threads write 500 records each, with braces, through the log's own thread. After the
  // shutdown stderr has each record once and whole; records below the level are absent.
  testing::internal::CaptureStderr();
  ConfigureLog({.level = Level::kInfo, .format = Format::kJson});
  Debug("hidden");
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([thread] {
      for (int i = 0; i < 500; ++i) Info("{} %s record", {{"number", thread * 500 + i}});
    });
  }
  for (std::thread& thread : threads) thread.join();
  ShutDownLog();
  Info("after");
  const std::string output = testing::internal::GetCapturedStderr();
  std::vector<bool> seen(2000);
  std::size_t lines = 0;
  for (std::size_t start = 0; start < output.size(); ++lines) {
    const std::size_t end = output.find('\n', start);
    ASSERT_NE(end, std::string::npos);
    const boost::json::value line = boost::json::parse(output.substr(start, end - start));
    if (line.at("message") == "{} %s record")
      seen[line.at("number").to_number<std::size_t>()] = true;
    EXPECT_NE(line.at("message"), "hidden");
    start = end + 1;
  }
  EXPECT_EQ(lines, 2001U);
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 2000);
}

// Plan: stderr fails for two records, as on a full disk. The next record follows a line that counts
// them.
TEST(Log, SaysHowManyRecordsWereLost) {
  testing::internal::CaptureStderr();
  const int stderr_before = dup(STDERR_FILENO);
  const int full = open("/dev/full", O_WRONLY);
  dup2(full, STDERR_FILENO);
  Info("one");
  Info("two");
  dup2(stderr_before, STDERR_FILENO);
  close(full);
  close(stderr_before);
  Info("three");
  const std::string output = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(output.begin(), output.end(), '\n'), 2) << output;
  EXPECT_NE(output.find("log records were lost: stderr could not be written"), std::string::npos);
  EXPECT_NE(output.find("No space left on device"), std::string::npos) << output;
  EXPECT_LT(output.find("lost"), output.find("three"));
  EXPECT_GE(Dropped(), 2U);
}

// Plan: stderr is a full blocking pipe whose reader stands still. Threads that log go on. Once
// there is room, the next record follows a line that counts the lost ones.
TEST(Log, WaitsForNoReader) {
  int pipe_ends[2];
  ASSERT_EQ(pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK), 0);
  const int capacity = fcntl(pipe_ends[1], F_SETPIPE_SZ, 8192);
  ASSERT_GT(capacity, 0);
  const std::string filler(static_cast<std::size_t>(capacity), '.');
  ASSERT_EQ(write(pipe_ends[1], filler.data(), filler.size()), capacity);
  ASSERT_EQ(fcntl(pipe_ends[1], F_SETFL, 0), 0);
  const int stderr_before = dup(STDERR_FILENO);
  dup2(pipe_ends[1], STDERR_FILENO);
  Info("one");
  std::string text(filler.size(), ' ');
  const ssize_t drained = read(pipe_ends[0], text.data(), text.size());
  Info("two");
  dup2(stderr_before, STDERR_FILENO);
  close(stderr_before);
  close(pipe_ends[1]);
  EXPECT_EQ(drained, capacity);
  text.resize(static_cast<std::size_t>(read(pipe_ends[0], text.data(), text.size())));
  close(pipe_ends[0]);
  EXPECT_NE(text.find("Resource temporarily unavailable"), std::string::npos) << text;
  EXPECT_NE(text.find("two"), std::string::npos) << text;
  EXPECT_EQ(text.find("one"), std::string::npos) << text;
}

// Plan: several threads write at once to a blocking pipe that has room for one of them, many times.
// Those that find it full go on, although poll said that there was room.
TEST(Log, WaitsForNoReaderWhoeverElseWrites) {
  const int stderr_before = dup(STDERR_FILENO);
  const std::string page(4096, '.');
  for (int round = 0; round < 300; ++round) {
    int pipe_ends[2];
    ASSERT_EQ(pipe2(pipe_ends, O_CLOEXEC), 0);
    ASSERT_EQ(fcntl(pipe_ends[1], F_SETPIPE_SZ, 4096), 4096);
    dup2(pipe_ends[1], STDERR_FILENO);
    std::latch begin(4);
    std::atomic<int> taken{0};
    std::vector<std::thread> writers;
    for (int writer = 0; writer < 4; ++writer) {
      writers.emplace_back([&] {
        begin.arrive_and_wait();
        if (WriteStderrNow(page) == ssize(page)) ++taken;
      });
    }
    for (std::thread& writer : writers) writer.join();
    dup2(stderr_before, STDERR_FILENO);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    ASSERT_EQ(taken, 1);
  }
  close(stderr_before);
}

TEST(OneLine, EscapesAndCutsWhatItRepeats) {
  EXPECT_EQ(OneLine("a\nb\x1b[31m", 100), "a\\nb\\u001b[31m");
  EXPECT_EQ(OneLine("\xFF", 100), "\xEF\xBF\xBD");
  EXPECT_EQ(OneLine("12345", 5), "12345");
  EXPECT_EQ(OneLine("1234\xC3\xA9", 5), "1234...");
}

}  // namespace
}  // namespace baton::log
