// gRPC callers that mean harm: what they can make a batond keep in memory has a bound, and
// renewals go on. They speak HTTP/2 by hand if no client library would do what they do.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "access/access.h"
#include "base/grpc/server_limits.h"
#include "baton/v1/routing.grpc.pb.h"
#include "e2e/bad_input.h"
#include "e2e/floods.h"

namespace baton::e2e {
namespace {

using testing::HasSubstr;

/// The most resident memory that the process ever had, in bytes.
std::uint64_t Peak(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6)) << 10;
  }
  return 0;
}

// A request of 64 MiB, which gzip makes one of 64 kB. gRPC 1.51 looks at the size of a message only
// once it has opened it.
TEST_F(BadInput, ACompressedBombIsRefusedUnopened) {
  Begin();
  const std::uint64_t before = Peak(node_->pid());
  const auto stub = v1::RoutingService::NewStub(
      grpc::CreateChannel(node_->endpoint(), grpc::InsecureChannelCredentials()));
  const auto look_up = [&](std::string key, grpc_compression_algorithm compression) {
    v1::LookupRequest request;
    request.set_key(std::move(key));
    grpc::ClientContext context;
    context.set_compression_algorithm(compression);
    v1::LookupResponse response;
    return stub->Lookup(&context, request, &response);
  };
  ASSERT_TRUE(look_up("order-17", GRPC_COMPRESS_NONE).ok());
  const grpc::Status refused = look_up(std::string(64 << 20, 'x'), GRPC_COMPRESS_GZIP);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNIMPLEMENTED) << refused.error_message();
  EXPECT_LT(Peak(node_->pid()), before + (16 << 20)) << "was " << before;
  ExpectUndisturbed();
}

/// A copy of batonctl that every user of this host can run.
class Batonctl {
 public:
  Batonctl() {
    std::filesystem::copy_file(BATONCTL, folder_ + "/batonctl");
    std::filesystem::permissions(folder_, std::filesystem::perms(0755));
  }
  ~Batonctl() { std::filesystem::remove_all(folder_); }

  app::Ran RunAs(uid_t user, const std::string& endpoint, const std::string& verb) const {
    const std::string number = std::to_string(user);
    return app::RunProcess(
        {.arguments = {"setpriv", "--reuid", number, "--regid", number, "--clear-groups",
                       folder_ + "/batonctl", "--endpoint", endpoint, verb},
         .input = {},
         .watch = {}});
  }

 private:
  const std::string folder_ = FreshFolder();
};

// Another user of this host opens as many connections as it gets. Other users and operators still
// get in, at the port and at the admin socket.
TEST_F(BadInput, AUserWithItsShareOfConnectionsKeepsNobodyOut) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can connect as somebody else";
  const Batonctl batonctl;
  const std::string admin = cluster_.folder() + "/admin.sock";
  BeginUnder("ulimit -n 700; exec \"$@\"", {"--admin-socket", admin});
  std::vector<Socket> held;
  for (int i = 0; i < 500; ++i) {
    held.push_back(ConnectAs(kSomebody, PortOf(node_->endpoint())));
    held.back().Send(Http2Greeting());
  }
  for (int i = 0; i < 10; ++i) {
    const app::Ran other = batonctl.RunAs(kSomebody + 1, node_->endpoint(), "status");
    EXPECT_EQ(other.exit, 0) << other.err;
    EXPECT_EQ(cluster_.Ctl("n1", {"status"}).exit, 0);
    EXPECT_EQ(batonctl.RunAs(0, "unix:" + admin, "status").exit, 0);
  }
  EXPECT_NE(batonctl.RunAs(kSomebody, node_->endpoint(), "status").exit, 0);
  EXPECT_GE(cluster_.Metric("n1", "baton_grpc_connections_refused_total{why=\"share\"}"), 100);
  EXPECT_THAT(node_->Log(), testing::ContainsRegex("has its share of them by=.?uid 61234"));
  held.clear();
  cluster_.Await("the user gets in again",
                 [&] { return batonctl.RunAs(kSomebody, node_->endpoint(), "status").exit == 0; });
  ExpectUndisturbed();
  ExpectBoundedMemory();
}

// Users of this host, one for each connection, hold every one that the node gives to such users.
// Operators still get in.
TEST_F(BadInput, OperatorsGetInWhileOtherUsersHoldAllConnections) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can connect as somebody else";
  BeginUnder("ulimit -n 700; exec \"$@\"");
  std::vector<Socket> held;
  for (uid_t i = 0; i < 500; ++i) {
    held.push_back(ConnectAs(kSomebody + i, PortOf(node_->endpoint())));
    held.back().Send(Http2Greeting());
  }
  const std::string refused = "baton_grpc_connections_refused_total{why=\"full\"}";
  cluster_.Await("some are refused", [&] { return cluster_.Metric("n1", refused) >= 10; });
  for (int i = 0; i < 10; ++i) EXPECT_EQ(cluster_.Ctl("n1", {"status"}).exit, 0);
  ExpectUndisturbed();
  ExpectBoundedMemory();
}

// ---- HTTP/2 by hand ----------------------------------------------------------------------------

std::string CallsOf(std::uint32_t count) {
  std::string calls;
  for (std::uint32_t i = 0; i < count; ++i) calls += CallOf(i);
  return calls;
}

/// A caller that has begun as it should: it has acknowledged the server's settings.
Socket Greeted(const NodeProcess& node) {
  Socket socket(PortOf(node.endpoint()));
  socket.Send(Http2Greeting());
  Eventually(kPatience, [&] { return socket.Heard(); });
  socket.Send(FrameOf({kSettings, kAck}));
  return socket;
}

// The limit holds for the first call above it, and for that connection alone.
TEST_F(BadInput, CallsAboveTheLimitEndTheirConnection) {
  Begin();
  const Socket modest = Greeted(*node_), greedy = Greeted(*node_);
  ASSERT_TRUE(modest.Send(CallsOf(15)));
  ASSERT_TRUE(greedy.Send(CallsOf(30)));
  EXPECT_TRUE(Eventually(kPatience, [&] { return greedy.Refused(); }));
  EXPECT_FALSE(modest.Refused());
  EXPECT_EQ(cluster_.Ctl("n1", {"status"}).exit, 0);
  ExpectUndisturbed();
}

// CVE-2023-1428, which Debian's gRPC 1.51 does not have. Callers who acknowledged the limit are
// closed, and others answer for the next frame on their connection.
TEST_F(BadInput, HeadersThatAbortedOtherGrpcsAbortNothing) {
  constexpr const char* kPong = "are you?";  // a ping has eight bytes, which its answer repeats
  Begin();
  const pid_t pid = node_->pid();
  for (const auto& [name, headers] : AbortingHeaders("http")) {
    const std::string frames =
        FrameOf({kHeaders, kEndOfHeaders, 1}, headers) + FrameOf({kPing}, kPong);
    const Socket honest = Greeted(*node_);
    honest.Send(frames);
    EXPECT_TRUE(Eventually(kPatience, [&] { return honest.Refused(); })) << name;
    const Socket silent(PortOf(node_->endpoint()));
    silent.Send(Http2Greeting() + frames);
    std::string heard;
    EXPECT_TRUE(Eventually(kPatience, [&] {
      heard += silent.Take();
      return heard.find(kPong) != std::string::npos;
    })) << name;
    ASSERT_TRUE(node_->running()) << name;
  }
  EXPECT_EQ(cluster_.Ctl("n1", {"status"}).exit, 0);
  EXPECT_EQ(node_->pid(), pid);
  ExpectUndisturbed();
  ExpectBoundedMemory();
}

// Plan: reflection lists what the server serves. Each of these services has rows in the table of
// roles, which says who may call it.
TEST_F(BadInput, NoServiceIsServedThatHasNoRow) {
  Begin({"--grpc-reflection"});
  const Socket caller = Greeted(*node_);
  const std::string list_services("\0\0\0\0\3\x3a\1*", 8);
  caller.Send(FrameOf({kHeaders, kEndOfHeaders, 1},
                      CallHeaders{.method = "ServerReflectionInfo",
                                  .service = "grpc.reflection.v1alpha.ServerReflection"}
                          .Encoded()) +
              FrameOf({kData, kEndOfStream, 1}, list_services));
  std::string heard;
  ASSERT_TRUE(Eventually(kPatience, [&] {
    heard += caller.Take();
    return heard.find("grpc-status") != std::string::npos;
  })) << heard;
  std::set<std::string> served;
  const std::regex name("(baton|grpc)\\.[a-z0-9]+\\.[A-Za-z0-9.]+");
  for (std::sregex_iterator at(heard.begin(), heard.end(), name), end; at != end; ++at) {
    served.insert(at->str());
  }
  EXPECT_GE(served.size(), 3U) << heard;
  std::set<std::string> with_rows;
  for (const std::string& method : access::MethodsWithRoles()) {
    with_rows.insert(method.substr(0, method.find('/')));
  }
  for (const std::string& service : served) {
    EXPECT_TRUE(with_rows.contains(service)) << service << " needs rows in src/access/access.cc";
  }
}

// CVE-2023-32732: bad base64 in a header ends the connection instead of the call. Nobody else's.
TEST_F(BadInput, ABrokenBinaryHeaderEndsItsConnectionAlone) {
  Begin();
  const Socket modest = Greeted(*node_), broken = Greeted(*node_);
  ASSERT_TRUE(modest.Send(CallOf(0)));
  const std::string headers = CallHeaders{.more = Header("x-bin", "!!!!")}.Encoded();
  ASSERT_TRUE(broken.Send(FrameOf({kHeaders, kEndOfHeaders, 1}, headers)));
  EXPECT_TRUE(Eventually(kPatience, [&] { return broken.Refused(); }));
  EXPECT_FALSE(modest.Refused());
  EXPECT_EQ(cluster_.Ctl("n1", {"status"}).exit, 0);
  ExpectUndisturbed();
}

// Sixty callers begin sixty calls each, with a request of which the last byte never comes: 210 MiB.
// They share a budget, and other callers are answered meanwhile.
TEST_F(BadInput, RequestsWithoutAnEndShareABudget) {
  constexpr std::uint64_t kBudget = 64ull << 20;  // src/base/grpc/server_limits.h
  constexpr std::size_t kRequest = 60'000;
  Begin();
  const std::uint64_t before = Resident(node_->pid());
  std::string unfinished = std::string("\0\0\0\xF0\0", 5) + std::string(kRequest, 'x');
  std::vector<Socket> callers;
  for (int i = 0; i < 60; ++i) {
    callers.push_back(Greeted(*node_));
    callers.back().LimitSend(std::chrono::seconds(1));
    for (std::uint32_t call = 0; call < 60; ++call) {
      std::string bytes = CallOf(call);
      for (std::size_t at = 0; at < unfinished.size(); at += 16'384) {
        bytes += FrameOf({kData, 0, 1 + 2 * call}, unfinished.substr(at, 16'384));
      }
      if (!callers.back().Send(bytes)) break;
    }
  }
  EXPECT_EQ(cluster_.Ctl("n1", {"status"}).exit, 0);
  EXPECT_LT(Resident(node_->pid()), before + kBudget + kMaxGrowth / 2) << "was " << before;
  ExpectUndisturbed();
}

struct CallFloodOptions {
  std::int64_t calls_a_second = 0;  ///< fewer if the server does not answer as often
  /// On each connection. The default is half of what a node takes: calls that it has answered and
  /// not forgotten yet count, too, and a connection above the limit ends.
  int at_once = kMaxStreamsOfNode / 2;
  /// gRPC 1.51 holds only clients that acknowledge its settings to the number of calls.
  bool acknowledges = true;
};

/// Calls GetStatus until it is destroyed. REQUIRES: nothing was sent on the connections.
class CallFlood {
 public:
  CallFlood(std::vector<Socket> sockets, const CallFloodOptions& options) : options_(options) {
    for (Socket& socket : sockets) connections_.push_back({.socket = std::move(socket)});
    thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
  }

  /// Calls that were answered or refused so far.
  int ended() const { return ended_; }

 private:
  struct Connection {
    Socket socket;
    std::string heard = {};  // the beginning of a frame
    std::uint32_t calls = 0;
    int open = 0;
  };

  void Run(const std::stop_token& stop) {
    std::vector<pollfd> waiting;
    for (const Connection& connection : connections_) {
      const std::string much("\x7f\0\0\0", 4);
      const std::string ack = options_.acknowledges ? FrameOf({kSettings, kAck}) : "";
      connection.socket.Send(Http2Greeting() + ack + FrameOf({kWindowUpdate}, much));
      waiting.push_back({.fd = connection.socket.descriptor(), .events = POLLIN, .revents = 0});
    }
    const TimePoint began = BootClock::now();
    while (!stop.stop_requested()) {
      const auto due =
          (BootClock::now() - began) * options_.calls_a_second / std::chrono::seconds(1);
      for (Connection& connection : connections_) Turn(connection, due);
      poll(waiting.data(), waiting.size(), 1);
    }
  }
  void Turn(Connection& connection, std::int64_t due) {
    connection.heard += connection.socket.Take();
    std::string sent = Answers(connection);
    for (; connection.open < options_.at_once && begun_ < due;
         ++connection.open, ++connection.calls) {
      ++begun_;
      sent += CallOf(connection.calls) +
              FrameOf({kData, kEndOfStream, 1 + 2 * connection.calls}, std::string(5, '\0'));
    }
    if (!sent.empty()) connection.socket.Send(sent);
  }
  /// Reads whole frames, and returns what they want answered.
  std::string Answers(Connection& connection) {
    std::string answers;
    std::size_t at = 0;
    const auto byte = [&](std::size_t index) {
      return static_cast<std::uint8_t>(connection.heard[at + index]);
    };
    while (connection.heard.size() - at >= 9) {
      const std::size_t length = 9 + (byte(0) << 16 | byte(1) << 8 | byte(2));
      if (connection.heard.size() - at < length) break;
      const int flags = byte(4);
      const bool over = byte(3) == kReset || (byte(3) == kHeaders && (flags & kEndOfStream) != 0);
      if (over) --connection.open;
      if (over) ++ended_;
      if (byte(3) == kPing && (flags & kAck) == 0) {
        answers += FrameOf({kPing, kAck}, connection.heard.substr(at + 9, 8));
      }
      at += length;
    }
    connection.heard.erase(0, at);
    return answers;
  }

  const CallFloodOptions options_;
  std::vector<Connection> connections_;  // only the thread
  std::int64_t begun_ = 0;               // likewise
  std::atomic<int> ended_{0};
  std::jthread thread_;
};

/// Connections of users without any right, one user for each.
std::vector<Socket> Strangers(std::size_t count, const NodeProcess& node) {
  std::vector<Socket> sockets;
  while (sockets.size() < count) {
    const auto user = kSomebody + static_cast<uid_t>(sockets.size());
    sockets.push_back(ConnectAs(user, PortOf(node.endpoint())));
  }
  return sockets;
}

// Fifty users without any right call 10,000 times a second, or as often as the machine can. Plan:
// meanwhile an operator drains a node and takes that back, five times. All of it is done, and the
// fastest drain takes less than a second, also on a busy machine.
TEST_F(BadInput, TenThousandCallsASecondLeaveOperatorsTheirs) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can connect as somebody else";
  Begin();
  cluster_.Start("n2");
  cluster_.AwaitBalanced({"n1", "n2"});
  const CallFlood flood(Strangers(50, *node_), {.calls_a_second = 10'000});
  ASSERT_TRUE(Eventually(kPatience, [&] { return flood.ended() > 20'000; }));
  const auto began = BootClock::now();
  const int before = flood.ended();
  auto fastest = Duration::max();
  for (int i = 0; i < 5; ++i) {
    const auto asked = BootClock::now();
    const app::Ran drained = cluster_.Ctl("n1", {"nodes", "drain", "n2"});
    EXPECT_EQ(drained.exit, 0) << drained.err;
    fastest = std::min(fastest, BootClock::now() - asked);
    const app::Ran undrained = cluster_.Ctl("n1", {"nodes", "undrain", "n2"});
    EXPECT_EQ(undrained.exit, 0) << undrained.err;
  }
  EXPECT_LT(fastest, std::chrono::seconds(1));
  const auto took = std::chrono::duration<double>(BootClock::now() - began).count();
  RecordProperty("calls_a_second", static_cast<int>((flood.ended() - before) / took));
  RecordProperty("drain_ms", static_cast<int>(fastest / std::chrono::milliseconds(1)));
  EXPECT_GT(flood.ended(), before);
  EXPECT_GT(cluster_.Metric("n1", "baton_calls_limited_total{kind=\"read\"}"), 1'000);
  EXPECT_EQ(node_->Log().find("session lost"), std::string::npos);
  EXPECT_EQ(cluster_.Metric("n1", "baton_transitions_total{reason=\"suspended\"}"), 0);
}

// Two hundred users without any right have 30 calls open each, at all times. Plan: a call to etcd
// takes less than half the time of one of these calls, so it does not wait until they have been
// served. On a busy machine the node may end their connections, as its callbacks wait for too long.
TEST_F(BadInput, EtcdsAnswersDontWaitForCallers) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can connect as somebody else";
  constexpr int kStrangers = 200, kAtOnce = 30;
  Begin();
  const CallFlood flood(Strangers(kStrangers, *node_),
                        {.calls_a_second = 1'000'000, .at_once = kAtOnce, .acknowledges = false});
  const auto cut_off = [&] {
    return cluster_.Metric("n1", "baton_grpc_bounds_reached_total{bound=\"callbacks_late\"}") > 0;
  };
  ASSERT_TRUE(
      Eventually(kPatience, [&] { return flood.ended() > kStrangers * kAtOnce || cut_off(); }));
  const auto metric = [&](const std::string& part) {
    return cluster_.Metric("n1",
                           "baton_etcd_request_seconds_" + part + "{method=\"Txn\",code=\"OK\"}");
  };
  const auto began = BootClock::now();
  const int ended_before = flood.ended();
  const double count_before = metric("count"), sum_before = metric("sum");
  ASSERT_TRUE(Eventually(kPatience, [&] { return metric("count") >= count_before + 10; }));
  const double to_etcd = (metric("sum") - sum_before) / (metric("count") - count_before);
  const auto took = std::chrono::duration<double>(BootClock::now() - began).count();
  RecordProperty("etcd_ms", static_cast<int>(1e3 * to_etcd));
  if (!cut_off()) {
    const int ended = flood.ended() - ended_before;
    ASSERT_GT(ended, 0);
    const double of_strangers = kStrangers * kAtOnce * took / ended;
    RecordProperty("strangers_ms", static_cast<int>(1e3 * of_strangers));
    EXPECT_LT(to_etcd, std::max(of_strangers / 2, 0.02));
  }
  EXPECT_EQ(node_->Log().find("session lost"), std::string::npos);
}

/// The sockets of this host's TCP connections from or to these ports, by the numbers of their
/// files.
std::set<std::uint64_t> SocketsOf(const std::set<std::uint16_t>& ports, bool from) {
  std::set<std::uint64_t> sockets;
  for (const char* list : {"/proc/net/tcp", "/proc/net/tcp6"}) {  // gRPC's clients have the second
    std::ifstream connections(list);
    std::string line;
    std::getline(connections, line);  // the columns' names
    while (std::getline(connections, line)) {
      std::istringstream words(line);
      const std::vector<std::string> word{std::istream_iterator<std::string>(words), {}};
      const std::string& address = word.at(from ? 1 : 2);  // 0100007F:1F90
      const auto port = std::stoul(address.substr(address.find(':') + 1), nullptr, 16);
      const bool established = word[3] == "01";
      if (established && ports.contains(static_cast<std::uint16_t>(port))) {
        sockets.insert(std::stoull(word.at(9)));
      }
    }
  }
  return sockets;
}

/// The files that each epoll of a process watches, by their numbers.
std::vector<std::set<std::uint64_t>> WatchedByEpolls(pid_t pid) {
  std::vector<std::set<std::uint64_t>> epolls;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fdinfo")) {
    std::ifstream info(entry.path());
    std::set<std::uint64_t> watched;
    for (std::string line; std::getline(info, line);) {
      const std::size_t file = line.find(" ino:");
      if (!line.starts_with("tfd:") || file == std::string::npos) continue;
      watched.insert(std::stoull(line.substr(file + 5), nullptr, 16));
    }
    if (!watched.empty()) epolls.push_back(std::move(watched));
  }
  return epolls;
}

bool Meet(const std::set<std::uint64_t>& one, const std::set<std::uint64_t>& other) {
  return std::any_of(one.begin(), one.end(), [&](const auto each) { return other.contains(each); });
}

/// Whether a thread that waits for etcd can get what a caller sends: an epoll watches both.
bool WatchesEtcdWithCallers(const NodeProcess& node) {
  const Socket caller = Greeted(node);
  EXPECT_TRUE(caller.connected());
  std::set<std::uint16_t> of_etcd;
  for (const std::string& endpoint : SharedEtcd().endpoints()) of_etcd.insert(PortOf(endpoint));
  const auto callers = SocketsOf({PortOf(node.endpoint())}, true);
  const auto etcds = SocketsOf(of_etcd, false);
  EXPECT_FALSE(callers.empty());
  EXPECT_FALSE(etcds.empty());
  const auto epolls = WatchedByEpolls(node.pid());
  EXPECT_FALSE(epolls.empty()) << "HTTP has one";
  return std::any_of(epolls.begin(), epolls.end(), [&](const auto& watched) {
    return Meet(watched, callers) && Meet(watched, etcds);
  });
}

// gRPC's default watches the sockets of all in one epoll, so any thread parses what callers send.
// Plan: a caller is connected, and no epoll of the node watches its socket and one of etcd's.
TEST_F(BadInput, NoThreadWaitsForEtcdAndForCallers) {
  Begin();
  EXPECT_FALSE(WatchesEtcdWithCallers(*node_));
}

// Plan: the environment asks for gRPC's default, and gets it. So the test above would see it.
TEST_F(BadInput, TheEnvironmentCanAskForGrpcsDefault) {
  BeginUnder("export GRPC_POLL_STRATEGY=epoll1; exec \"$@\"");
  EXPECT_TRUE(WatchesEtcdWithCallers(*node_));
}

// PRIORITY frames, which no flow control holds back. Plan: renewals go on, whether a connection is
// ended by the node, or by its caller before the node looks at it.
TEST_F(BadInput, FloodsOfFramesTakeNoLease) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can connect as somebody else";
  Begin();
  double ended = 0;
  for (const std::uint32_t by_connection : {UINT32_MAX, 8U}) {
    const Flood strangers(PortOf(node_->endpoint()),
                          {.part = CheapFrames(), .parts_by_connection = by_connection});
    ended += Flood::kUsers;
    cluster_.Await("the budget is reached", [&] {
      double reached = 0;
      for (const char* bound : {"received_bytes", "callbacks_late"}) {
        reached += cluster_.Metric(
            "n1", std::string("baton_grpc_bounds_reached_total{bound=\"") + bound + "\"}");
      }
      return reached >= ended;
    });
    ExpectUndisturbed();
  }
}

// Bytes that cost gRPC far more than others, and stay below the budget of bytes. Plan: renewals go
// on beside each kind, for three leases. (Whose connections end, and when: receive_budget_test.cc.)
TEST_F(BadInput, FloodsOfCostlyBytesTakeNoLease) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can connect as somebody else";
  Begin();
  for (const Part& part : {Pings(), AHeaderInPieces(), CallsThatAreReset(), AHugeHeaderThenPieces(),
                           CallsThatDontEnd()}) {
    const Flood strangers(PortOf(node_->endpoint()), {.part = part});
    const double before = Renewals();
    cluster_.Await("renewals go on", [&] { return Renewals() >= before + 9; });
  }
  // A busy machine may be late for a moment. The lease is kept.
  EXPECT_EQ(node_->Log().find("session lost"), std::string::npos);
}

// Ten callers ask for all shards, one after another and again and again, and make room for no byte
// of the answers. What the node keeps of these has a bound, and others are served. (About the time
// after which answers are given up: unread_answers_test.cc.)
TEST_F(BadInput, AnswersThatNobodyReadsAreBounded) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can connect as somebody else";
  Cluster cluster(SharedEtcd(), {.shards = 5'000, .ttl = kShortLease});
  NodeProcess& node = cluster.Start("n1");
  cluster.AwaitBalanced({"n1"});
  const std::uint64_t before = Resident(node.pid());
  const std::string no_room = FrameOf({kSettings}, std::string("\0\4\0\0\0\0", 6));
  const std::string headers = CallHeaders{.method = "ListShards"}.Encoded();
  std::vector<Socket> still;
  for (uid_t i = 0; i < 10; ++i) {
    still.push_back(ConnectAs(kSomebody + i, PortOf(node.endpoint())));
    still.back().Send(Http2Greeting() + no_room);
    Eventually(kPatience, [&] { return still.back().Heard(); });
    still.back().Send(FrameOf({kSettings, kAck}));
  }
  // Its worker refuses what comes faster than it answers, for another reason, so this takes a
  // while.
  std::uint32_t call = 0;
  cluster.Await("calls are refused because too much is unread", [&] {
    for (const Socket& socket : still) {
      socket.Send(FrameOf({kHeaders, kEndOfHeaders, 1 + 2 * call}, headers) +
                  FrameOf({kData, kEndOfStream, 1 + 2 * call}, std::string(5, '\0')));
    }
    ++call;
    return cluster.Metric("n1", "baton_grpc_bounds_reached_total{bound=\"unread_answers\"}") > 0;
  });
  const std::uint64_t after = Resident(node.pid());
  RecordProperty("growth_mib", static_cast<int>((after - before) >> 20));
  EXPECT_LT(after, before + (320ull << 20)) << "was " << before;
  EXPECT_EQ(cluster.Ctl("n1", {"status"}).exit, 0) << "an operator";
  still.clear();
  const Batonctl batonctl;
  cluster.Await("others are served", [&] {
    return batonctl.RunAs(kSomebody + 10, node.endpoint(), "status").exit == 0;
  });
}

// gRPC loads the service for this on request alone.
TEST_F(BadInput, NobodyIsToldWhatIsServedUnlessAskedTo) {
  Begin();
  const Socket caller = Greeted(*node_);
  caller.Send(FrameOf({kHeaders, kEndOfHeaders, 1},
                      CallHeaders{.method = "ServerReflectionInfo",
                                  .service = "grpc.reflection.v1alpha.ServerReflection"}
                          .Encoded()) +
              FrameOf({kData, kEndOfStream, 1}, std::string("\0\0\0\0\3\x3a\1*", 8)));
  std::string heard;
  ASSERT_TRUE(Eventually(kPatience, [&] {
    heard += caller.Take();
    return heard.find("grpc-status") != std::string::npos;
  })) << heard;
  EXPECT_EQ(heard.find("baton.v1"), std::string::npos);
  EXPECT_THAT(heard, HasSubstr(std::string("grpc-status\x02") + "12")) << "UNIMPLEMENTED";
}

}  // namespace
}  // namespace baton::e2e
