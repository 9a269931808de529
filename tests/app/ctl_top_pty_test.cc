// top on a terminal: painted by ncurses on a pseudo-terminal, resized, and left with a key.
#include <pty.h>
#include <sys/ioctl.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

#include "app/ctl_process.h"
#include "runtime/admin_server.h"

namespace baton::app {
namespace {

/// Reads until `text` is painted; false after 20 s.
bool Painted(int terminal, const std::string& text, std::string* seen) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::chrono::steady_clock::now() < deadline) {
    if (seen->find(text) != std::string::npos) return true;
    pollfd readable{terminal, POLLIN, 0};
    if (poll(&readable, 1, 100) != 1) continue;
    char buffer[4096];
    const auto size = read(terminal, buffer, sizeof buffer);
    if (size <= 0) return false;
    seen->append(buffer, static_cast<std::size_t>(size));
  }
  return false;
}

// Plan: the frame of the fake group appears, and appears again after a resize. When the node ends,
// top says so. The key q leaves with 0.
TEST(Top, PaintsResizesSaysThatTheNodeIsGoneAndQuits) {
  setenv("TERM", "xterm-256color", 1);
  setenv("LC_ALL", "C.UTF-8", 1);
  auto server = std::make_unique<runtime::AdminServer>(std::vector<NodeId>{"n1", "n2"}, 8);
  winsize size{24, 80, 0, 0};
  int terminal = -1, inside = -1;
  ASSERT_EQ(openpty(&terminal, &inside, nullptr, nullptr, &size), 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int end : {0, 1, 2}) posix_spawn_file_actions_adddup2(&actions, inside, end);
  std::string endpoint = server->endpoint;
  char* argv[] = {const_cast<char*>(BATONCTL), const_cast<char*>("top"),
                  const_cast<char*>("--endpoint"), endpoint.data(), nullptr};
  pid_t pid = 0;
  ASSERT_EQ(posix_spawn(&pid, BATONCTL, &actions, nullptr, argv, environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  close(inside);
  std::string seen;
  EXPECT_TRUE(Painted(terminal, "LAST CHANGES", &seen)) << seen;
  seen.clear();
  size = {30, 100, 0, 0};
  ioctl(terminal, TIOCSWINSZ, &size);
  kill(pid, SIGWINCH);
  EXPECT_TRUE(Painted(terminal, "LAST CHANGES", &seen)) << seen;
  seen.clear();
  server.reset();
  EXPECT_TRUE(Painted(terminal, "trying again", &seen)) << seen;
  EXPECT_EQ(write(terminal, "q", 1), 1);
  // top restores the screen before it ends: read until the terminal closes.
  Painted(terminal, "never painted", &seen);
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  close(terminal);
}

}  // namespace
}  // namespace baton::app
