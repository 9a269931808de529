// How many gRPC connections each caller gets. The connections are descriptors of this process, and
// how many places are free is what a test says.
#include "app/daemon/connection_shares.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace baton::app {
namespace {

using Served = ConnectionListener::Served;

class ConnectionSharesTest : public testing::Test {
 protected:
  ~ConnectionSharesTest() override {
    for (const int descriptor : open_) close(descriptor);
  }

  /// Opens a connection, of which the server closes its end if it is refused.
  Served Connect(const access::Caller& caller) {
    const int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const Served served = shares_.Admit({connection, places_ - connection}, caller, now_);
    if (served == Served::kTaken) {
      open_.insert(connection);
      last_ = connection;
    } else {
      close(connection);
    }
    return served;
  }
  /// Connects until that is refused, and returns how many were not.
  int ConnectAll(const access::Caller& caller) {
    int taken = 0;
    while (Connect(caller) == Served::kTaken) ++taken;
    return taken;
  }
  void Close(int connection) {
    close(connection);
    open_.erase(connection);
  }
  static access::Caller At(const std::string& host) { return {.peer = "ipv4:" + host + ":4711"}; }

  const std::shared_ptr<access::Access> access_ =
      std::make_shared<access::Access>(access::Access::Defaults{});
  ConnectionShares shares_{access_};
  std::set<int> open_;
  int last_ = -1;
  TimePoint now_{};
  const int used_ = [] {
    int used = 0;
    for (int number = 0; number < 400; ++number) used += fcntl(number, F_GETFD) >= 0 ? 1 : 0;
    return used;
  }();
  const int places_ = used_ + 400;
};

TEST_F(ConnectionSharesTest, OneCallerHasThreeQuartersAtMost) {
  EXPECT_EQ(ConnectAll(At("198.51.100.1")), 300);
  EXPECT_EQ(Connect(At("198.51.100.1")), Served::kShare);
  EXPECT_EQ(Connect(At("198.51.100.2")), Served::kTaken);
}

// Plan: ten callers take turns until each is refused; then a hundred others connect once each.
TEST_F(ConnectionSharesTest, ManyCallersTogetherLeaveSomeToOthers) {
  for (bool taken = true; taken;) {
    taken = false;
    for (int i = 0; i < 10; ++i) {
      taken |= Connect(At(fmt::format("198.51.100.{}", i))) == Served::kTaken;
    }
  }
  const int left = places_ - used_ - static_cast<int>(open_.size());
  EXPECT_GE(left, 10);
  for (int i = 0; i < left; ++i) {
    EXPECT_EQ(Connect(At(fmt::format("203.0.113.{}", i))), Served::kTaken) << i;
  }
  EXPECT_EQ(Connect(At("192.0.2.1")), Served::kNoPlace);
}

// Plan: user 61234 takes its share, on this host; root, and addresses of other hosts' networks,
// have others. A caller without a known user shares with all of these.
TEST_F(ConnectionSharesTest, ACallerIsAUserOfThisHostOrANetwork) {
  const auto of_user = [](uid_t user) {
    return access::Caller{.peer = "ipv4:127.0.0.1:4711", .user = user};
  };
  ConnectAll(of_user(61'234));
  EXPECT_EQ(Connect(of_user(61'234)), Served::kShare);
  EXPECT_EQ(Connect(of_user(61'235)), Served::kTaken);
  const access::Caller network{.peer = "ipv6:[2001:db8::1]:4711"};
  const access::Caller neighbour{.peer = "ipv6:[2001:db8::2]:4711"};
  const access::Caller elsewhere{.peer = "ipv6:[2001:db8:1::1]:4711"};
  ConnectAll(network);
  EXPECT_EQ(Connect(neighbour), Served::kShare);
  EXPECT_EQ(Connect(elsewhere), Served::kTaken);
}

TEST_F(ConnectionSharesTest, OperatorsOfThisHostHaveNoShareAndTheLastPlaces) {
  const access::Caller root{.peer = "ipv4:127.0.0.1:4711", .user = 0};
  for (int i = 0; i < 420; ++i) EXPECT_EQ(Connect(root), Served::kTaken);
  EXPECT_EQ(Connect(At("198.51.100.1")), Served::kNoPlace);
}

// Plan: with other_hosts: operate, which --allow-remote-admin means, too.
TEST_F(ConnectionSharesTest, ARoleOfAllHostsIsNoReasonToHaveAllPlaces) {
  access_->SetRules({.other_hosts = access::Role::kOperate});
  EXPECT_EQ(ConnectAll(At("198.51.100.1")), 300);
}

// Plan: a caller with its share closes one connection after another, and gets a new one for it. The
// new one has the number of the earlier one. Then there are other files at a hundred of its
// numbers, which take places, too.
TEST_F(ConnectionSharesTest, AClosedConnectionLeavesItsPlace) {
  const access::Caller caller = At("198.51.100.1");
  ConnectAll(caller);
  for (int i = 0; i < 10; ++i) {
    now_ += std::chrono::seconds(1);
    Close(*open_.begin());
    EXPECT_EQ(Connect(caller), Served::kTaken);
    EXPECT_EQ(Connect(caller), Served::kShare);
  }
  now_ += std::chrono::seconds(1);
  std::vector<int> files;
  for (int i = 0; i < 100; ++i) {
    Close(*open_.begin());
    files.push_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  }
  EXPECT_EQ(ConnectAll(caller), 25);
  for (const int file : files) close(file);
}

// Plan: others' connections come and go, and each time one goes the caller with its share tries to
// get that place.
TEST_F(ConnectionSharesTest, ACallerWithItsShareGetsNoPlaceThatOthersLeave) {
  const access::Caller greedy = At("198.51.100.1");
  Connect(At("198.51.100.2"));
  const int other = last_;
  ConnectAll(greedy);
  const auto all = open_.size();
  for (int i = 0; i < 10; ++i) {
    Close(other);
    now_ += std::chrono::seconds(1);
    EXPECT_EQ(Connect(greedy), Served::kShare);
    EXPECT_EQ(Connect(At("198.51.100.2")), Served::kTaken);
    EXPECT_EQ(last_, other);
  }
  EXPECT_EQ(open_.size(), all);
}

/// Two ends of a TCP connection on this host.
struct Pair {
  Pair() {
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    auto* const address = reinterpret_cast<sockaddr*>(&at);
    EXPECT_EQ(bind(listener, address, size), 0);
    EXPECT_EQ(listen(listener, 1), 0);
    EXPECT_EQ(getsockname(listener, address, &size), 0);
    client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(connect(client, address, size), 0);
    server = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    close(listener);
  }
  ~Pair() {
    close(client);
    close(server);
  }
  void Send(std::size_t bytes) const {
    const std::string sent(bytes, 'x');
    EXPECT_EQ(send(client, sent.data(), sent.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(sent.size()));
  }
  /// The server's end was shut down.
  bool Ended() const {
    char byte = 0;
    return recv(client, &byte, 1, MSG_DONTWAIT) == 0;
  }

  int client = -1;
  int server = -1;
};

// Plan: two callers stay below the budget together; then one sends more. Its connection ends, and
// it gets no other one for ten seconds. What was sent before does not count again.
TEST(ConnectionShares, EndTheConnectionThatSendsMostAboveTheBudget) {
  const auto access = std::make_shared<access::Access>(access::Access::Defaults{});
  ConnectionShares shares(access, {.a_second = 10'000, .at_once = 20'000});
  TimePoint now{};
  const access::Caller modest{.peer = "ipv4:198.51.100.1:4711"};
  const access::Caller flood{.peer = "ipv4:198.51.100.2:4711"};
  const Pair one, two;
  ASSERT_EQ(shares.Admit({one.server, 400}, modest, now), Served::kTaken);
  ASSERT_EQ(shares.Admit({two.server, 400}, flood, now), Served::kTaken);
  const auto look = [&] {
    now += std::chrono::milliseconds(100);
    return shares.Weigh(now);
  };
  one.Send(9'000);
  two.Send(9'000);
  EXPECT_EQ(look(), 0);
  EXPECT_EQ(look(), 0);
  one.Send(1'000);
  two.Send(15'000);
  EXPECT_EQ(look(), 1);
  EXPECT_FALSE(one.Ended());
  EXPECT_TRUE(two.Ended());
  const Pair again, other;
  EXPECT_EQ(shares.Admit({again.server, 400}, flood, now), Served::kShare);
  EXPECT_EQ(shares.Admit({other.server, 400}, modest, now), Served::kTaken);
  now += ConnectionShares::kBarred;
  EXPECT_EQ(shares.Admit({again.server, 400}, flood, now), Served::kTaken);
}

}  // namespace
}  // namespace baton::app
