// The log on a terminal that nobody reads. In a program of its own, as a process configures its log
// once.
#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <string>

#include "base/log.h"

namespace baton::log {
namespace {

// Plan: stderr is a terminal of the kind that blocks, whose other end nobody reads. It says that it
// can be written as long as it takes a byte. Who logs goes on; then some is read, so that the log's
// own thread writes again, and ends although nobody reads any more.
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
