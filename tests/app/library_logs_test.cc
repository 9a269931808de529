// The log lines of gRPC and protobuf, and the last words of a process. Stderr belongs to the whole
// process, so each test replaces it and restores it.
#include "app/daemon/library_logs.h"

#include <fcntl.h>
#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <string>

#include "base/last_words.h"

namespace baton::app {
namespace {

/// Makes stderr a blocking pipe, which nobody reads until Read.
class PipedStderr {
 public:
  PipedStderr() : before_(dup(STDERR_FILENO)) {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0) ends_ = {-1, -1};
    dup2(ends_[1], STDERR_FILENO);
  }
  ~PipedStderr() {
    Restore();
    close(ends_[0]);
    close(ends_[1]);
  }
  PipedStderr(const PipedStderr&) = delete;
  PipedStderr& operator=(const PipedStderr&) = delete;

  /// Fills the pipe.
  void Fill() {
    fcntl(ends_[1], F_SETFL, O_NONBLOCK);
    const std::string page(4096, '.');
    while (write(ends_[1], page.data(), page.size()) > 0) {
    }
    fcntl(ends_[1], F_SETFL, 0);
  }
  /// Returns the pipe's content and restores stderr.
  std::string Read() {
    Restore();
    fcntl(ends_[0], F_SETFL, O_NONBLOCK);
    std::string text;
    std::array<char, 4096> part;
    ssize_t size = 0;
    while ((size = read(ends_[0], part.data(), part.size())) > 0) {
      text.append(part.data(), static_cast<std::size_t>(size));
    }
    return text;
  }

 private:
  void Restore() {
    if (before_ < 0) return;
    dup2(before_, STDERR_FILENO);
    close(before_);
    before_ = -1;
  }

  int before_;
  std::array<int, 2> ends_{};
};

TEST(LastWords, AreOneLineCutAtItsBound) {
  PipedStderr piped;
  LastWords("the end");
  LastWords(std::string(600, 'x'));
  EXPECT_EQ(piped.Read(), "the end\n" + std::string(511, 'x') + "\n");
}

TEST(LastWords, WaitForNoReader) {
  PipedStderr piped;
  piped.Fill();
  LastWords("the end");
  EXPECT_EQ(piped.Read().find("the end"), std::string::npos);
}

/// Does what gRPC's own start does: before that gRPC logs nothing.
void Take() {
  TakeLibraryLogs();
  gpr_log_verbosity_init();
}

TEST(LibraryLogs, WhatGrpcSaysIsARecordOfTheLog) {
  Take();
  PipedStderr piped;
  gpr_log(__FILE__, 7, GPR_LOG_SEVERITY_ERROR, "two words\nand a line");
  const std::string text = piped.Read();
  EXPECT_NE(text.find(" warn  two words\\nand a line library=grpc file="), std::string::npos)
      << text;
  EXPECT_NE(text.find(" line=7 not_logged=0\n"), std::string::npos) << text;
}

// Plan: one place in gRPC's code logs five errors, and another one an error. Strangers fill no log.
TEST(LibraryLogs, FewErrorsOfOnePlaceInGrpcAreLogged) {
  Take();
  PipedStderr piped;
  for (int i = 0; i < 5; ++i) {
    gpr_log(__FILE__, 8, GPR_LOG_SEVERITY_ERROR, "handshake %d failed", i);
  }
  gpr_log(__FILE__, 9, GPR_LOG_SEVERITY_ERROR, "bad bytes");
  const std::string text = piped.Read();
  EXPECT_NE(text.find(" warn  handshake 0 failed library=grpc"), std::string::npos) << text;
  EXPECT_NE(text.find(" warn  bad bytes library=grpc"), std::string::npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
}

TEST(LibraryLogs, WhatProtobufSaysIsOfLevelDebug) {
  TakeLibraryLogs();
  PipedStderr piped;
  GOOGLE_LOG(ERROR) << "contains invalid UTF-8 data";
  EXPECT_EQ(piped.Read(), "");
}

// Plan: an assertion of gRPC fails while stderr is full and nobody reads it, and once more with
// room for the line. gRPC aborts both times.
TEST(LibraryLogsDeathTest, AFailedAssertionOfGrpcWaitsForNobody) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  Take();
  const bool it_holds = false;
  EXPECT_EXIT(
      {
        PipedStderr piped;
        piped.Fill();
        GPR_ASSERT(it_holds);
      },
      testing::KilledBySignal(SIGABRT), "");
  EXPECT_EXIT(GPR_ASSERT(it_holds), testing::KilledBySignal(SIGABRT),
              "batond: grpc: .*library_logs_test.cc:[0-9]+: assertion failed: it_holds");
}

}  // namespace
}  // namespace baton::app
