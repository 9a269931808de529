// A transport to an etcd that has a name, while nobody knows the name, as in Kubernetes while all
// of etcd's pods are away.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "base/subprocess.h"
#include "contract/transport_support.h"

namespace baton::etcd::test {
namespace {

constexpr const char* kServer = "BATON_TEST_NAME_SERVER";
// By then gRPC waits for 17 s and more until it looks a name up again.
constexpr std::chrono::seconds kLong{45};
constexpr Duration kLongestGap = std::chrono::seconds(10);

/// A name server that knows no name, at port 53 of an address in 127.0.0.0/8.
class NameServer {
 public:
  explicit NameServer(const std::string& address) {
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_port = htons(53);
    inet_pton(AF_INET, address.c_str(), &here.sin_addr);
    serves_ = bind(socket_, reinterpret_cast<const sockaddr*>(&here), sizeof here) == 0;
    thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
  }
  bool serves() const { return serves_; }
  /// The longest time between two questions. REQUIRES: called after Stop.
  Duration longest_gap() const { return longest_gap_; }
  void Stop() {
    thread_.request_stop();
    thread_.join();
    close(socket_);
  }

 private:
  void Run(const std::stop_token& stop) {
    TimePoint asked = BootClock::now();
    while (!stop.stop_requested()) {
      std::array<char, 512> question{};
      sockaddr_in from{};
      socklen_t size = sizeof from;
      pollfd waiting{.fd = socket_, .events = POLLIN, .revents = 0};
      poll(&waiting, 1, 50);
      const ssize_t bytes = recvfrom(socket_, question.data(), question.size(), MSG_DONTWAIT,
                                     reinterpret_cast<sockaddr*>(&from), &size);
      const TimePoint now = BootClock::now();
      longest_gap_ = std::max<Duration>(longest_gap_, now - asked);
      if (bytes < 12) continue;
      asked = now;
      question[2] = '\x81';  // an answer
      question[3] = '\x83';  // there is no such name
      sendto(socket_, question.data(), static_cast<std::size_t>(bytes), 0,
             reinterpret_cast<const sockaddr*>(&from), size);
    }
  }

  const int socket_ = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  bool serves_ = false;
  Duration longest_gap_{0};  // the thread's, while it runs
  std::jthread thread_;
};

// In a process with a name server of its own.
void ExpectLookUps(const std::string& server) {
  NameServer names(server);
  ASSERT_TRUE(names.serves());
  auto etcd = GrpcTransport::Create({.endpoints = {"etcd.baton-test:2379"}}).value();
  const TimePoint until = BootClock::now() + kLong;
  while (BootClock::now() < until) {
    etcdserverpb::RangeRequest request;
    request.set_key("a");
    const auto reply = Await<etcdserverpb::RangeResponse>([&](auto handler) {
      etcd->Range(std::move(request), std::chrono::seconds(1), std::move(handler));
    });
    EXPECT_FALSE(reply.status.ok());
    poll(nullptr, 0, 50);
  }
  names.Stop();
  EXPECT_LT(names.longest_gap(), kLongestGap);
}

// Once the name is known again, the node must not wait for up to two minutes. Plan: the test runs
// itself in another process, whose name server is the test's.
TEST(Names, AreLookedUpAgainAndAgain) {
  if (const char* const server = std::getenv(kServer)) return ExpectLookUps(server);
  if (geteuid() != 0) GTEST_SKIP() << "only root can have an /etc/resolv.conf of its own";
  const auto unique = static_cast<unsigned>(getpid());
  const std::string server = "127." + std::to_string(1 + unique / 65536 % 254) + "." +
                             std::to_string(unique / 256 % 256) + "." +
                             std::to_string(unique % 256);
  const std::string file = testing::TempDir() + "resolver-" + std::to_string(getpid());
  std::ofstream(file) << "nameserver " << server << "\n";
  setenv(kServer, server.c_str(), 1);
  const std::string in_private = "mount --bind " + file + " /etc/resolv.conf && exec " +
                                 std::filesystem::read_symlink("/proc/self/exe").string() +
                                 " --gtest_filter=Names.AreLookedUpAgainAndAgain";
  auto process = Subprocess::Start(
      {.arguments = {"unshare", "-m", "sh", "-c", in_private}, .inherits_output = true});
  ASSERT_TRUE(process.ok()) << process.error().message;
  const auto ended = process.value()->Wait(BootClock::now() + 2 * kLong + kPatience);
  unlink(file.c_str());
  ASSERT_TRUE(ended);
  EXPECT_TRUE(ended->success());
}

}  // namespace
}  // namespace baton::etcd::test
