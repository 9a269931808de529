// How many calls one connection may have open (ReceiveBudget::Bounds::open_calls). The connections
// are real; the time is what a test says.
#include "base/receive_budget.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "base/tcp_pair.h"

namespace baton {
namespace {

class OpenCalls : public testing::Test {
 protected:
  void Weigh(int looks = 1) {
    for (int i = 0; i < looks; ++i) budget_.Weigh(now_ += std::chrono::milliseconds(100), {});
  }
  bool Barred(const std::string& caller) { return budget_.IsBarred(caller, now_); }
  using Call = std::shared_ptr<ReceiveBudget::Calls>;
  Call Begin(const TcpPair& pair, int calls = 1) {
    Call last;
    const std::string peer = "ipv4:127.0.0.1:" + std::to_string(pair.ClientPort());
    for (int i = 0; i < calls; ++i) last = budget_.Served(peer);
    return last;
  }
  static void End(const Call& call, int calls = 1) {
    for (int i = 0; i < calls; ++i) ReceiveBudget::Over(call);
  }

  TimePoint now_{std::chrono::hours(1)};
  ReceiveBudget budget_;
};

// Plan: a connection has 65 calls open, which is one too many, when Weigh looks. At the next look
// it has 64; then 65 at two looks. Another one has as many, and all of them end in between.
TEST_F(OpenCalls, AConnectionWithManyIsEnded) {
  const TcpPair pair, busy;
  ASSERT_TRUE(budget_.Add(pair.server, "pair"));
  ASSERT_TRUE(budget_.Add(busy.server, "busy"));
  Weigh();
  const auto one = Begin(pair, 65);
  Weigh();
  End(one);
  Weigh();
  EXPECT_FALSE(Barred("pair"));
  Begin(pair);
  End(Begin(busy, 65), 65);
  Weigh(2);
  EXPECT_TRUE(Barred("pair") && pair.Ended());
  EXPECT_FALSE(Barred("busy"));
}

// Plan: gRPC takes some seconds to end so many calls, and keeps the connection meanwhile. It is
// counted once, and its caller is barred once.
TEST_F(OpenCalls, AConnectionIsEndedForThemOnce) {
  const TcpPair pair;
  ASSERT_TRUE(budget_.Add(pair.server, "pair"));
  Begin(pair, 65);
  Weigh(50);
  EXPECT_EQ(budget_.ended().for_calls, 1u);
  Weigh(60);
  EXPECT_FALSE(Barred("pair"));
}

/// Two connections from one address and port, to two addresses of this host.
class FromOnePort : public OpenCalls {
 protected:
  FromOnePort() {
    const int on = 1;
    sockaddr_in from{};
    socklen_t size = sizeof from;
    for (int i = 0; i < 2; ++i) {
      sockaddr_in to{};
      to.sin_family = AF_INET;
      to.sin_addr.s_addr = htonl(INADDR_LOOPBACK + static_cast<std::uint32_t>(i));
      const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      EXPECT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
      EXPECT_EQ(listen(listener, 1), 0);
      EXPECT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&to), &size), 0);
      clients_[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      EXPECT_EQ(setsockopt(clients_[i], SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
      if (i == 0) {
        from.sin_family = AF_INET;
        from.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      }
      EXPECT_EQ(bind(clients_[i], reinterpret_cast<sockaddr*>(&from), sizeof from), 0);
      EXPECT_EQ(connect(clients_[i], reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
      EXPECT_EQ(getsockname(clients_[i], reinterpret_cast<sockaddr*>(&from), &size), 0);
      servers_[i] = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      close(listener);
    }
    peer_ = "ipv4:127.0.0.1:" + std::to_string(ntohs(from.sin_port));
  }
  ~FromOnePort() override {
    for (const int end : {clients_[0], clients_[1], servers_[0], servers_[1]}) {
      if (end >= 0) close(end);
    }
  }
  /// The client ends its first connection, and the kernel knows it.
  void EndFirst() {
    close(std::exchange(clients_[0], -1));
    char byte = 0;
    EXPECT_EQ(recv(servers_[0], &byte, 1, 0), 0);
  }

  std::array<int, 2> clients_{-1, -1}, servers_{-1, -1};
  std::string peer_;
};

// Plan: the calls of one would account for the bytes of the other. So the second one is refused as
// long as the first one is open.
TEST_F(FromOnePort, OnlyOneIsServedAtATime) {
  ASSERT_TRUE(budget_.Add(servers_[0], "stranger"));
  EXPECT_FALSE(budget_.Add(servers_[1], "stranger"));
  EndFirst();
  EXPECT_TRUE(budget_.Add(servers_[1], "stranger"));
}

// Plan: the first connection has ended, with too many calls that are open still. They are not those
// of the second one.
TEST_F(FromOnePort, CallsOfTheEarlierOneAreNotTheLaterOnes) {
  ASSERT_TRUE(budget_.Add(servers_[0], "first"));
  for (int i = 0; i < 65; ++i) budget_.Served(peer_);
  EndFirst();
  ASSERT_TRUE(budget_.Add(servers_[1], "second"));
  Weigh(30);
  EXPECT_TRUE(Barred("first"));
  EXPECT_FALSE(Barred("second"));
  Call last;
  for (int i = 0; i < 65; ++i) last = budget_.Served(peer_);
  EXPECT_EQ(last->open, 65);
  Weigh(2);
  EXPECT_TRUE(Barred("second"));
}

// Plan: a call of a connection that nobody counts.
TEST_F(OpenCalls, OfUnknownConnectionsAreNotCounted) {
  const TcpPair pair;
  EXPECT_EQ(Begin(pair), nullptr);
  ASSERT_TRUE(budget_.Add(pair.server, "pair", LeastReserved(), {.calls_count = false}));
  EXPECT_EQ(Begin(pair), nullptr);
}

}  // namespace
}  // namespace baton
