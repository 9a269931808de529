// The guard that a node has started: whose sessions it ends.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "app/guard/end_sessions.h"
#include "app/guard/guard.h"
#include "base/clock.h"
#include "runtime/guard/guard_settings.h"
#include "runtime/state_lock.h"

namespace baton::app {
namespace {

constexpr int kPatienceMs = 60'000;

class GuardParentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const int probe = static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0));
    if (probe < 0) GTEST_SKIP() << "needs pidfd_open (Linux 5.3)";
    close(probe);
    std::string pattern = testing::TempDir() + "baton-guard-XXXXXX";
    directory_ = mkdtemp(pattern.data());
    etcd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    ASSERT_EQ(bind(etcd_, generic, size), 0);
    ASSERT_EQ(listen(etcd_, 8), 0);
    ASSERT_EQ(getsockname(etcd_, generic, &size), 0);
    endpoint_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  void TearDown() override {
    close(etcd_);
    std::filesystem::remove_all(directory_);
  }

  runtime::GuardSettings SettingsOf(const std::string& group, const NodeId& node) const {
    return {
        .group = group, .node = node, .state_dir = directory_, .etcd = {.endpoints = {endpoint_}}};
  }
  /// Runs a guard of this node on the state directory. Returns its exit code; nullopt: it turned to
  /// etcd, which never answers, and was killed.
  std::optional<int> GuardOf(const std::string& group, const NodeId& node) const {
    return GuardWith(runtime::Format(SettingsOf(group, node)), [] {});
  }
  /// The same, with these lines from the node. Calls `asked` once it has turned to etcd.
  std::optional<int> GuardWith(const std::string& lines, const std::function<void()>& asked) const {
    std::array<int, 2> input{};
    EXPECT_EQ(pipe2(input.data(), O_CLOEXEC), 0);
    EXPECT_EQ(write(input[1], lines.data(), lines.size()), static_cast<ssize_t>(lines.size()));
    close(input[1]);
    const pid_t guard = fork();
    if (guard == 0) _exit(GuardParent(input[0], nullptr));
    const int handle = static_cast<int>(syscall(SYS_pidfd_open, guard, 0));
    std::array<pollfd, 2> waited{pollfd{handle, POLLIN, 0}, pollfd{etcd_, POLLIN, 0}};
    EXPECT_GT(poll(waited.data(), waited.size(), kPatienceMs), 0) << "it does nothing";
    const bool turned_to_etcd = waited[1].revents != 0;
    if (turned_to_etcd) asked();
    kill(guard, SIGKILL);
    int status = 0;
    waitpid(guard, &status, 0);
    for (const int each : {handle, input[0]}) close(each);
    waited[1].revents = 0;
    while (poll(&waited[1], 1, 0) > 0) close(accept4(etcd_, nullptr, nullptr, SOCK_CLOEXEC));
    if (turned_to_etcd || !WIFEXITED(status)) return std::nullopt;
    return WEXITSTATUS(status);
  }
  /// The bytes that the guard sends to etcd, up to this text.
  std::string SentUpTo(const std::string& end) const {
    const int connection = accept4(etcd_, nullptr, nullptr, SOCK_CLOEXEC);
    const std::string settings{"\0\0\0\4\0\0\0\0\0", 9};  // of HTTP/2; gRPC waits for them
    EXPECT_EQ(write(connection, settings.data(), settings.size()), 9);
    std::string said;
    pollfd waited{connection, POLLIN, 0};
    while (said.find(end) == std::string::npos && poll(&waited, 1, kPatienceMs) > 0) {
      char bytes[4096];
      const ssize_t size = read(connection, bytes, sizeof bytes);
      if (size <= 0) break;
      said.append(bytes, static_cast<std::size_t>(size));
    }
    close(connection);
    return said;
  }

  std::string directory_;
  int etcd_ = -1;
  std::string endpoint_;
};

// Plan: the state directory is that of n2, which is dead. A guard of n1, and one of n2 in another
// group, ask etcd for nothing and fail. The guard of n2 turns to etcd.
TEST_F(GuardParentTest, ActsForItsOwnNodeAlone) {
  {
    auto node = runtime::StateLock::Take(directory_, "orders", "n2", {.guarded = true});
    ASSERT_TRUE(node.ok()) << node.error().message;
    ASSERT_TRUE(node.value()->RecordSession({.session = SessionId{5}}).ok());
  }
  EXPECT_EQ(GuardOf("orders", "n1"), EXIT_FAILURE);
  EXPECT_EQ(GuardOf("billing", "n2"), EXIT_FAILURE);
  EXPECT_EQ(GuardOf("orders", "n2"), std::nullopt);
}

// Plan: the node has left in order. Its guard ends with success, and asks etcd for nothing.
TEST_F(GuardParentTest, HasNothingToDoForANodeThatLeft) {
  {
    auto node = runtime::StateLock::Take(directory_, "orders", "n1", {.guarded = true});
    ASSERT_TRUE(node.ok()) << node.error().message;
    ASSERT_TRUE(node.value()->RecordSession({.session = SessionId{5}}).ok());
    ASSERT_TRUE(node.value()->RecordSession({}).ok());
  }
  EXPECT_EQ(GuardOf("orders", "n1"), EXIT_SUCCESS);
}

// Plan: the node had four passwords, wrote them to the guard before it started it, and is dead by
// then. The lines are long, as with certificates. The guard tries the newest password first.
TEST_F(GuardParentTest, KnowsAllCredentialsOfANodeThatIsDeadAlready) {
  {
    auto node = runtime::StateLock::Take(directory_, "orders", "n1", {.guarded = true});
    ASSERT_TRUE(node.ok()) << node.error().message;
    ASSERT_TRUE(node.value()->RecordSession({.session = SessionId{5}}).ok());
  }
  std::string lines;
  for (const char* password : {"password-1", "password-2", "password-3", "password-4"}) {
    runtime::GuardSettings settings = SettingsOf("orders", "n1");
    settings.etcd.user = "baton";
    settings.etcd.password = password + std::string(10'000, '.');
    lines += runtime::Format(settings);
  }
  for (int i = 0; i < 10; ++i) {  // it was a race
    std::string said;
    EXPECT_EQ(GuardWith(lines, [&] { said = SentUpTo("..."); }), std::nullopt);
    EXPECT_NE(said.find("password-4"), std::string::npos);
  }
}

// Plan: etcd never answers, and the guard was asked to end before it began. It does not end at
// once, because etcd usually needs milliseconds. It runs in a child, as gRPC and fork() don't mix.
TEST_F(GuardParentTest, HasAMomentAfterItWasAskedToEnd) {
  const pid_t guard = fork();
  if (guard == 0) {
    const std::atomic<bool> asked_to_end{true};
    const TimePoint began = Clock::Real().Now();
    const runtime::Death death{.group = "orders", .node = "n1", .sessions = {SessionId{5}}};
    const bool ended = EndSessions(
        {.death = death, .etcd = {.endpoints = {endpoint_}}, .credentials = {EtcdCredentials{}}},
        asked_to_end);
    const bool at_once = Clock::Real().Now() - began < kGraceAfterDeath;
    _exit(ended || at_once ? EXIT_FAILURE : EXIT_SUCCESS);
  }
  int status = 0;
  ASSERT_EQ(waitpid(guard, &status, 0), guard);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), EXIT_SUCCESS);
}

}  // namespace
}  // namespace baton::app
