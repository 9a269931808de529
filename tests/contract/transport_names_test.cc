// A transport to an etcd that has a name: the name is looked up again if the etcd can't be reached,
// as in Kubernetes while all of etcd's pods are away, and only then.
#include <arpa/inet.h>
#include <grpcpp/grpcpp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/subprocess.h"
#include "contract/transport_support.h"
#include "etcd/etcd.grpc.pb.h"
#include "gmock/gmock.h"

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

// An endpoint that can't be reached for longer than this gets a trial of new connections.
constexpr std::chrono::milliseconds kUnreachable{5'200};

std::string PortOf(const std::string& endpoint) { return endpoint.substr(endpoint.rfind(':') + 1); }

// Plan: two of three members are killed. The third one is reached by its name, and says for twice
// the time that it has no leader. Its connections stay: it would have to make new ones for every
// node, again and again, just when it is in trouble.
TEST(Names, OfAnEtcdWithoutALeaderStayAsTheyAre) {
  const auto etcd = StartEtcd({.members = 3});
  ASSERT_NE(etcd, nullptr);
  Recorder<std::string> calls;
  const auto transport =
      GrpcTransport::Create(
          {.endpoints = {"localhost:" + PortOf(etcd->endpoints().front())},
           .on_call = [&calls](std::string_view method, int,
                               std::chrono::nanoseconds) { calls.Add(std::string(method)); }})
          .value();
  ASSERT_TRUE(Get(*transport, "a").status.ok());
  for (const std::size_t member : {1, 2}) etcd->Kill(member);
  std::size_t told = 0;
  const TimePoint until = BootClock::now() + 2 * kUnreachable;
  while (BootClock::now() < until) {
    WatchLog log;
    const auto watch = transport->OpenWatch(WatchFrom("a", 0), "", log.Handler());
    const auto ended = log.ended.WaitForCount(1, std::chrono::seconds(1));
    if (!ended.empty() && ended.front().code == grpc::StatusCode::UNAVAILABLE) ++told;
    poll(nullptr, 0, 50);
  }
  EXPECT_GT(told, 10u) << "the member did not say that it has no leader";
  EXPECT_THAT(calls.Values(), testing::Not(testing::Contains("Status")));
}

/// An etcd that answers reads, but says nothing of its own status until AnswerStatus.
class LateEtcd final {
 public:
  explicit LateEtcd(const std::string& address) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
    builder.RegisterService(&kv_);
    builder.RegisterService(&maintenance_);
    server_ = builder.BuildAndStart();
  }
  ~LateEtcd() { AnswerStatus(); }
  LateEtcd(const LateEtcd&) = delete;
  LateEtcd& operator=(const LateEtcd&) = delete;
  bool serves() const { return server_ != nullptr; }
  /// Refuses to say its status, now and later.
  void AnswerStatus() {
    if (!std::exchange(maintenance_.told, true)) maintenance_.tell.set_value();
  }

 private:
  struct Kv final : etcdserverpb::KV::Service {
    grpc::Status Range(grpc::ServerContext*, const etcdserverpb::RangeRequest*,
                       etcdserverpb::RangeResponse* response) override {
      response->mutable_header();
      return grpc::Status::OK;
    }
  };
  struct Maintenance final : etcdserverpb::Maintenance::Service {
    grpc::Status Status(grpc::ServerContext*, const etcdserverpb::StatusRequest*,
                        etcdserverpb::StatusResponse*) override {
      told_now.wait();
      return {grpc::StatusCode::UNAVAILABLE, "not now"};
    }
    std::promise<void> tell;
    std::shared_future<void> told_now = tell.get_future().share();
    bool told = false;
  };
  Kv kv_;
  Maintenance maintenance_;
  std::unique_ptr<grpc::Server> server_;
};

std::string FreePort() {
  const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof here;
  auto* const generic = reinterpret_cast<sockaddr*>(&here);
  EXPECT_EQ(bind(probe, generic, size), 0);
  EXPECT_EQ(getsockname(probe, generic, &size), 0);
  close(probe);
  return std::to_string(ntohs(here.sin_port));
}

// Plan: nobody serves a name's port for 5.2 s, so the transport looks the name up again. Then an
// etcd is there, and answers a call while the new connections are still tried. They fail. Nobody
// set any certificates, so nobody hears of certificates.
TEST(Names, ThatAreLookedUpAgainSayNothingOfCertificates) {
  const std::string port = FreePort();
  Recorder<std::string> told, calls;
  // Long pauses: the new connections reach the etcd before the earlier ones do.
  const auto transport =
      GrpcTransport::Create(
          {.endpoints = {"localhost:" + port},
           .reconnect_first = std::chrono::milliseconds(1'000),
           .reconnect_longest = std::chrono::milliseconds(1'000),
           .on_call = [&calls](std::string_view method, int,
                               std::chrono::nanoseconds) { calls.Add(std::string(method)); },
           .on_credentials = [&told](const std::string& what,
                                     const CallStatus&) { told.Add(what); }})
          .value();
  EXPECT_FALSE(Get(*transport, "a").status.ok());
  poll(nullptr, 0, static_cast<int>(kUnreachable.count()));
  EXPECT_FALSE(Get(*transport, "a").status.ok());
  LateEtcd etcd("127.0.0.1:" + port);
  ASSERT_TRUE(etcd.serves());
  const auto answers = [&] {
    const TimePoint patience = BootClock::now() + kPatience;
    while (BootClock::now() < patience) {
      if (Get(*transport, "a").status.ok()) return true;
      poll(nullptr, 0, 20);
    }
    return false;
  };
  EXPECT_TRUE(answers());
  etcd.AnswerStatus();
  const auto tried = calls.WaitUntil(
      [](const auto& all) { return std::find(all.begin(), all.end(), "Status") != all.end(); });
  EXPECT_THAT(tried, testing::Contains("Status")) << "the name was not looked up again";
  EXPECT_TRUE(answers());  // what the trial says comes before this
  EXPECT_TRUE(told.Values().empty()) << told.Values().front();
}

}  // namespace
}  // namespace baton::etcd::test
