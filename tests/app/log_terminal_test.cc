// The log on a terminal that nobody reads. It is a program of its own, because a process configures
// its log once.
#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <string>

#include "base/log.h"

namespace baton::log {
namespace {

// Plan: stderr is a blocking terminal whose other end nobody reads. Poll calls it writable as long
// as it takes one byte. Threads that log go on. Then the test reads some, so that the log's own
// thread writes again; it ends although nobody reads any more.
TEST(Log, WaitsForNoTerminal) {
  int terminal = -1;
  int stalled = -1;
  ASSERT_EQ(openpty(&terminal, &stalled, nullptr, nullptr, nullptr), 0);
  const int stderr_before = dup(STDERR_FILENO);
  dup2(stalled, STDERR_FILENO);
  const std::string word(1000, 'x');
  const std::size_t before = Dropped();
  for (int i = 0; i < 100; ++i) Info(word);
  const std::size_t lost = Dropped() - before;
  std::array<char, 512> part;
  const ssize_t drained = read(terminal, part.data(), part.size());
  ConfigureLog({});
  for (int i = 0; i < 100; ++i) Info(word);
  ShutDownLog();
  dup2(stderr_before, STDERR_FILENO);
  close(stderr_before);
  close(stalled);
  close(terminal);
  EXPECT_GT(lost, 0U);
  EXPECT_GT(drained, 0);
}

}  // namespace
}  // namespace baton::log
