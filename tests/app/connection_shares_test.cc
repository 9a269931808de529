// How many gRPC connections each caller gets. The connections are descriptors of this process, two
// for each, and how many places are free is what a test says.
#include "app/daemon/connection_shares.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/tcp_pair.h"

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
  const std::shared_ptr<ReceiveBudget> budget_ =
      std::make_shared<ReceiveBudget>(ReceiveBudget::Bounds{.at_once = 10'000});
  ConnectionShares shares_{access_, budget_};
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
  EXPECT_EQ(ConnectAll(At("198.51.100.1")), 150);
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
  const int left = places_ - used_ - 2 * static_cast<int>(open_.size());
  EXPECT_GE(left, 10);
  for (int i = 0; i < left / 2; ++i) {
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

// Plan: an operator of this host has two connections when the rules change twice: they still give
// it the role, then not any more. Then it may connect as others do.
TEST_F(ConnectionSharesTest, AUserWhoCeasesToBeAnOperatorLosesItsConnections) {
  const access::Caller user{.peer = "ipv4:127.0.0.1:4711", .user = 61'234};
  access_->SetRules({.users = {{61'234, access::Role::kOperate}}});
  const TcpPair pairs[2];
  for (const TcpPair& pair : pairs)
    ASSERT_EQ(shares_.Admit({pair.server, 0}, user, now_), Served::kTaken);
  access_->SetRules({.users = {{61'234, access::Role::kAdmin}}});
  budget_->Weigh(now_, Duration(0));
  for (const TcpPair& pair : pairs) EXPECT_FALSE(pair.Ended());
  access_->SetRules({.users = {{61'234, access::Role::kRead}}});
  budget_->Weigh(now_, Duration(0));
  for (const TcpPair& pair : pairs) EXPECT_TRUE(pair.Ended());
  EXPECT_EQ(Connect(user), Served::kTaken);
}

// Plan: with other_hosts: operate, which --allow-remote-admin means, too.
TEST_F(ConnectionSharesTest, ARoleOfAllHostsIsNoReasonToHaveAllPlaces) {
  access_->SetRules({.other_hosts = access::Role::kOperate});
  EXPECT_EQ(ConnectAll(At("198.51.100.1")), 150);
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

// Plan: a caller that sent too much gets no connection; others do.
TEST_F(ConnectionSharesTest, ACallerThatSentTooMuchGetsNone) {
  const TcpPair pair;
  ASSERT_EQ(shares_.Admit({pair.server, 400}, At("198.51.100.1"), now_), Served::kTaken);
  pair.Send(20'000);
  budget_->Weigh(now_, Duration(0));
  EXPECT_EQ(Connect(At("198.51.100.1")), Served::kShare);
  EXPECT_EQ(Connect(At("198.51.100.2")), Served::kTaken);
}

}  // namespace
}  // namespace baton::app
