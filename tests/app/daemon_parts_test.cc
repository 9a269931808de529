// The parts around batond's node: the port before there is a server, the ready file, the
// guard of its secrets.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "app/common/port_reservation.h"
#include "app/common/process_guard.h"
#include "app/daemon/command.h"
#include "app/daemon/connection_listener.h"
#include "app/daemon/ready_file.h"
#include "base/no_more_threads.h"

namespace baton::app {
namespace {

/// A socket that listens on the port as gRPC's do without SO_REUSEPORT; -1 if that fails.
int Listen(std::uint16_t port) {
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool listening =
      bind(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      listen(server, 1) == 0;
  if (listening) return server;
  close(server);
  return -1;
}

TEST(PortReservation, LeavesThePortToItsServerAndToNobodyAfterIt) {
  // Plan: reserve any port; the server listens on it while it is reserved. Any other attempt to
  // reserve it or to listen is refused, before and after the reservation is released.
  auto taken = PortReservation::Take({"127.0.0.1", 0});
  ASSERT_TRUE(taken.ok()) << taken.error().message;
  std::optional<PortReservation> reservation(std::move(taken).value());
  const std::uint16_t port = reservation->port();
  ASSERT_NE(port, 0);
  EXPECT_EQ(reservation->address(), "127.0.0.1:" + std::to_string(port));
  const int server = Listen(port);
  ASSERT_GE(server, 0);
  EXPECT_EQ(Listen(port), -1);
  reservation.reset();
  const auto late = PortReservation::Take({"127.0.0.1", port});
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().message,
            "can't listen on 127.0.0.1:" + std::to_string(port) + ": Address already in use");
  close(server);
}

// Plan: the resolver may give ::1 first for localhost. But batonctl sends its token to 127.0.0.1.
TEST(PortReservation, ResolvesNames) {
  const auto named = PortReservation::Take({"localhost", 0});
  ASSERT_TRUE(named.ok()) << named.error().message;
  EXPECT_EQ(named.value().address(), "127.0.0.1:" + std::to_string(named.value().port()));
  const auto nowhere = PortReservation::Take({"no-such-host.invalid", 0});
  ASSERT_FALSE(nowhere.ok());
  EXPECT_TRUE(nowhere.error().message.starts_with("can't listen on no-such-host.invalid:0: "));
}

// Plan: a caller connects and reads nothing. The server writes until the kernel takes no more: that
// is little, for the caller's own half is counted here, too.
TEST(ConnectionListener, TheKernelKeepsLittleForACallerWhoReadsNothing) {
  auto reserved = PortReservation::Take({"127.0.0.1", 0});
  ASSERT_TRUE(reserved.ok()) << reserved.error().message;
  const std::uint16_t port = reserved->port();
  std::promise<int> accepted;
  auto listener = ConnectionListener::Start(reserved->Release(), "here", {.most_descriptors = 1000},
                                            [&accepted](int connection, int) {
                                              accepted.set_value(connection);
                                              return ConnectionListener::Served::kTaken;
                                            });
  ASSERT_TRUE(listener.ok()) << listener.error().message;
  const int caller = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int least = 4096;
  setsockopt(caller, SOL_SOCKET, SO_RCVBUF, &least, sizeof least);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(connect(caller, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  const int server = accepted.get_future().get();
  const std::string part(16384, 'x');
  ssize_t kept = 0;
  for (ssize_t taken = 0; (taken = send(server, part.data(), part.size(), MSG_NOSIGNAL)) > 0;) {
    kept += taken;
  }
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_GT(kept, 0);
  EXPECT_LE(kept, 300 << 10);
  close(server);
  close(caller);
}

// Plan: there is no thread for the listener. The error says so, and neither the socket nor what
// would wake the thread stays open.
TEST(ConnectionListener, LeavesNothingOpenIfItCantStart) {
  auto reserved = PortReservation::Take({"127.0.0.1", 0});
  ASSERT_TRUE(reserved.ok()) << reserved.error().message;
  const int bound = reserved->Release();
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const auto before = descriptors();
  const NoMoreThreads none;
  const auto listener =
      ConnectionListener::Start(bound, "here", {.most_descriptors = 1000},
                                [](int, int) { return ConnectionListener::Served::kNoPlace; });
  ASSERT_FALSE(listener.ok());
  EXPECT_TRUE(
      listener.error().message.starts_with("can't serve gRPC on here: the host lacks threads: "))
      << listener.error().message;
  EXPECT_EQ(descriptors(), before - 1);
}

// Plan: there is no thread that would watch the program. The error says so, and the program is
// killed.
TEST(Command, LeavesNoProgramIfNothingCanWatchIt) {
  const NoMoreThreads none;
  bool ended = false;
  const auto started = Command::Start({"sleep", "1000"}, "none",
                                      [&ended](const ExitStatus& /*how*/) { ended = true; });
  ASSERT_FALSE(started.ok());
  EXPECT_TRUE(started.error().message.starts_with("the host lacks threads: "))
      << started.error().message;
  EXPECT_FALSE(ended);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "this process has a child";
  EXPECT_EQ(errno, ECHILD);
}

class ReadyFileTest : public testing::Test {
 protected:
  ReadyFileTest() : folder_(testing::TempDir() + "ready_file_" + std::to_string(getpid())) {
    std::filesystem::create_directory(folder_);
  }
  ~ReadyFileTest() override { std::filesystem::remove_all(folder_); }
  std::size_t Files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

  const std::string folder_;
  const std::string path_ = folder_ + "/ready";
  const ReadyContent content_{
      .node = "n1", .grpc = "127.0.0.1:7400", .http = "127.0.0.1:7401", .pid = 42};
};

TEST_F(ReadyFileTest, ExistsWhileTheNodeIsReadyOnly) {
  // Plan: a stale file of an earlier process is removed at once. The file is written whole, with no
  // other file beside it, and removed with its owner.
  std::ofstream(path_) << "stale";
  {
    ReadyFile file(path_);
    EXPECT_EQ(Files(), 0U);
    ASSERT_TRUE(file.Write(content_).ok());
    EXPECT_EQ(Files(), 1U);
    std::ifstream in(path_);
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    EXPECT_EQ(text,
              "{\"node\":\"n1\",\"grpc\":\"127.0.0.1:7400\",\"http\":\"127.0.0.1:7401\","
              "\"pid\":42}\n");
  }
  EXPECT_EQ(Files(), 0U);
}

TEST_F(ReadyFileTest, SaysWhyItCannotBeWritten) {
  ReadyFile file(folder_ + "/missing/ready");
  const Status written = file.Write(content_);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().message,
            "can't write the ready file " + folder_ + "/missing/ready: No such file or directory");
}

// Plan: somebody guessed the temporary name and put a link there. The target stays as it is.
TEST_F(ReadyFileTest, FollowsNoLinkThatSomebodyPutThere) {
  const std::string target = folder_ + "/target";
  std::ofstream(target) << "mine";
  std::filesystem::create_symlink(target, path_ + ".42");
  ReadyFile file(path_);
  ASSERT_TRUE(file.Write(content_).ok());
  EXPECT_EQ(std::filesystem::file_size(target), 4U);
  EXPECT_TRUE(std::filesystem::is_regular_file(std::filesystem::symlink_status(path_)));
}

TEST_F(ReadyFileTest, NoPathMeansNoFile) {
  ReadyFile file("");
  EXPECT_TRUE(file.Write(content_).ok());
  EXPECT_EQ(Files(), 0U);
}

// Plan: in a child process, because it changes the process. Neither core dumps nor traces of gRPC
// are left, and more files may be open; a program that it starts gets the earlier settings back.
TEST(ProcessGuardDeathTest, KeepsSecretsInsideAndGivesProgramsTheirSettings) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto guarded = [] {
    rlimit limit{};
    getrlimit(RLIMIT_CORE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_CORE, &limit);
    setenv("GRPC_TRACE", "http", 1);
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = 200;
    setrlimit(RLIMIT_NOFILE, &files);
    GuardProcess(CoreDumps::kNone, GrpcTraces::kNone);
    RaiseDescriptorLimit();
    getrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_cur != std::min<rlim_t>(files.rlim_max, 32'768)) return 4;
    rlimit left{};
    getrlimit(RLIMIT_CORE, &left);
    if (prctl(PR_GET_DUMPABLE) != 0 || left.rlim_cur != 0) return 1;
    if (getenv("GRPC_TRACE") != nullptr) return 2;
    std::promise<ExitStatus> ended;
    const std::string most = limit.rlim_max == RLIM_INFINITY ? "unlimited" : "0";
    // The limit may come a moment after the start.
    auto program = Command::Start({"sh", "-c",
                                   "[ \"$GRPC_TRACE\" = http ] && until [ $(ulimit -c) = " + most +
                                       " ] && [ $(ulimit -n) = 200 ]; do :; done"},
                                  "none", [&](const ExitStatus& how) { ended.set_value(how); });
    return program.ok() && ended.get_future().get().success() ? 0 : 3;
  };
  EXPECT_EXIT(exit(guarded()), testing::ExitedWithCode(0), "");
}

TEST(ProcessGuardDeathTest, AllowsWhatIsAskedFor) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto allowed = [] {
    setenv("GRPC_TRACE", "http", 1);
    GuardProcess(CoreDumps::kAllowed, GrpcTraces::kAllowed);
    return prctl(PR_GET_DUMPABLE) == 1 && getenv("GRPC_TRACE") != nullptr ? 0 : 1;
  };
  EXPECT_EXIT(exit(allowed()), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace baton::app
