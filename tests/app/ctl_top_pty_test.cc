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

struct Running {
  pid_t pid = 0;
  int terminal = -1;
};

/// Starts `batonctl top` with these further arguments on a terminal of 24 lines and 80 columns.
Running StartTop(std::vector<std::string> arguments) {
  setenv("TERM", "xterm-256color", 1);
  setenv("LC_ALL", "C.UTF-8", 1);
  winsize size{24, 80, 0, 0};
  Running top;
  int inside = -1;
  EXPECT_EQ(openpty(&top.terminal, &inside, nullptr, nullptr, &size), 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int end : {0, 1, 2}) posix_spawn_file_actions_adddup2(&actions, inside, end);
  std::vector<char*> argv{const_cast<char*>(BATONCTL), const_cast<char*>("top")};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  EXPECT_EQ(posix_spawn(&top.pid, BATONCTL, &actions, nullptr, argv.data(), environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  close(inside);
  return top;
}

/// Reads until top ends, as it restores the screen before. Returns its exit code.
int Ended(const Running& top, std::string* seen) {
  Painted(top.terminal, "never painted", seen);
  int status = 0;
  EXPECT_EQ(waitpid(top.pid, &status, 0), top.pid);
  close(top.terminal);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Plan: the frame of the fake group appears, and appears again after a resize. When the node ends,
// top says so. The key q leaves with 0.
TEST(Top, PaintsResizesSaysThatTheNodeIsGoneAndQuits) {
  auto server = std::make_unique<runtime::AdminServer>(std::vector<NodeId>{"n1", "n2"}, 8);
  const Running top = StartTop({"--endpoint", server->endpoint});
  const int terminal = top.terminal;
  std::string seen;
  EXPECT_TRUE(Painted(terminal, "LAST CHANGES", &seen)) << seen;
  seen.clear();
  const winsize size{30, 100, 0, 0};
  ioctl(terminal, TIOCSWINSZ, &size);
  kill(top.pid, SIGWINCH);
  EXPECT_TRUE(Painted(terminal, "LAST CHANGES", &seen)) << seen;
  seen.clear();
  server.reset();
  EXPECT_TRUE(Painted(terminal, "trying again", &seen)) << seen;
  EXPECT_EQ(write(terminal, "q", 1), 1);
  EXPECT_EQ(Ended(top, &seen), 0) << seen;
}

// Plan: a file of the flags can't be read. top says so, as other verbs do, and ends.
TEST(Top, SaysWhichFileCannotBeRead) {
  const Running top = StartTop({"--endpoint", "127.0.0.1:1", "--tls-ca", "/missing.pem"});
  std::string seen;
  EXPECT_EQ(Ended(top, &seen), 2);
  EXPECT_THAT(seen, testing::HasSubstr("/missing.pem"));
}

}  // namespace
}  // namespace baton::app
