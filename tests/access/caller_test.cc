// Who opened a connection, as this machine's kernel says.
#include "access/caller.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace baton::access {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr uid_t kSomebody = 61234;

/// A listener on loopback, and connections to it.
class Loopback {
 public:
  explicit Loopback(const std::string& host) : host_(host) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address_.sin_family = AF_INET;
    inet_pton(AF_INET, host.c_str(), &address_.sin_addr);
    EXPECT_EQ(bind(listener_, Address(), sizeof address_), 0);
    EXPECT_EQ(listen(listener_, 16), 0);
    socklen_t size = sizeof address_;
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address_), &size);
  }
  ~Loopback() {
    close(listener_);
    Leave();
  }

  /// Connects as this user, who must be ourselves unless we are root.
  void Connect(uid_t user) {
    // The file system's user id, which new sockets get, belongs to the thread.
    std::thread([&] {
      setfsuid(user);
      client_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      EXPECT_EQ(connect(client_, Address(), sizeof address_), 0);
    }).join();
    sockaddr_in from{};
    socklen_t size = sizeof from;
    server_ = accept4(listener_, reinterpret_cast<sockaddr*>(&from), &size, SOCK_CLOEXEC);
    char text[INET_ADDRSTRLEN] = {};
    inet_ntop(AF_INET, &from.sin_addr, text, sizeof text);
    peer_ = fmt::format("ipv4:{}:{}", text, ntohs(from.sin_port));
  }
  void LeaveClient() { Close(client_); }
  void Leave() {
    Close(client_);
    Close(server_);
  }

  const std::string& peer() const { return peer_; }
  ServedAt served() const { return {.host = host_, .port = ntohs(address_.sin_port)}; }

 private:
  const sockaddr* Address() const { return reinterpret_cast<const sockaddr*>(&address_); }
  static void Close(int& fd) {
    if (fd >= 0) close(fd);
    fd = -1;
  }

  const std::string host_;
  sockaddr_in address_{};
  int listener_ = -1;
  int client_ = -1;
  int server_ = -1;
  std::string peer_;
};

TEST(Caller, OverLoopbackTheKernelKnowsTheUser) {
  for (const char* host : {"127.0.0.1", "127.0.0.77"}) {
    Loopback loopback(host);
    loopback.Connect(geteuid());
    const Caller caller = IdentifyCaller(loopback.peer(), loopback.served());
    EXPECT_TRUE(caller.local);
    EXPECT_EQ(caller.user, geteuid()) << host;
    EXPECT_THAT(NameOf(caller), HasSubstr("uid " + std::to_string(geteuid())));
  }
}

TEST(Caller, AnotherUsersConnectionIsAnotherUsers) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can connect as somebody else";
  Loopback loopback("127.0.0.1");
  loopback.Connect(kSomebody);
  EXPECT_EQ(IdentifyCaller(loopback.peer(), loopback.served()).user, kSomebody);
  loopback.Leave();
  loopback.Connect(0);
  EXPECT_EQ(IdentifyCaller(loopback.peer(), loopback.served()).user, 0U);
}

// Plan: a closed end has no process any more, and the kernel's answer for it has the number 0,
// which is root's. Nobody becomes root by hanging up.
TEST(Caller, WhoHungUpIsNobody) {
  Loopback loopback("127.0.0.1");
  loopback.Connect(geteuid());
  loopback.LeaveClient();
  const Caller caller = IdentifyCaller(loopback.peer(), loopback.served());
  EXPECT_TRUE(caller.local);
  EXPECT_FALSE(caller.user.has_value()) << *caller.user;
  EXPECT_EQ(NameOf(caller), loopback.peer());
}

// The kernel answers with the listener if there is no connection.
TEST(Caller, AListenerIsNotAConnection) {
  Loopback loopback("127.0.0.1");
  const std::string peer = fmt::format("ipv4:127.0.0.1:{}", loopback.served().port);
  EXPECT_FALSE(IdentifyCaller(peer, {.host = "127.0.0.1", .port = 1}).user.has_value());
}

TEST(Caller, WithoutAPortOrAReadablePeerNobodyIsKnown) {
  Loopback loopback("127.0.0.1");
  loopback.Connect(geteuid());
  EXPECT_FALSE(IdentifyCaller(loopback.peer(), {}).user.has_value());
  for (const char* peer : {"", "ipv4:", "ipv4:127.0.0.1", "ipv4:127.0.0.1:", "ipv4:127.0.0.1:x",
                           "ipv4:127.0.0.1:99999", "ipv6:[::1]:", "ipv6:%5B::1%5D:70000",
                           "ipv4:300.0.0.1:5", "unix-abstract:x"}) {
    EXPECT_FALSE(IdentifyCaller(peer, {.host = "", .port = 1}).user.has_value()) << peer;
  }
}

TEST(Caller, AUnixSocketsModeDecided) {
  EXPECT_EQ(IdentifyCaller("unix:/run/x", {}).user, geteuid());
}

TEST(Caller, KnowsLocalPeers) {
  for (const char* peer : {"ipv4:127.0.0.1:5", "ipv4:127.8.0.1:5", "ipv6:[::1]:5",
                           "ipv6:%5B::1%5D:5", "unix:/run/x", "unix-abstract:x"}) {
    EXPECT_TRUE(IsLocalPeer(peer)) << peer;
  }
  for (const char* peer : {"ipv4:10.0.0.1:5", "ipv4:1.127.0.1:5", "ipv6:[::2]:5",
                           "ipv6:%5B::12%5D:5", "", "unknown"}) {
    EXPECT_FALSE(IsLocalPeer(peer)) << peer;
  }
}

TEST(Caller, IsNamedOnOneLine) {
  EXPECT_THAT(NameOf({.peer = "x\ny", .local = false, .user = {}}), StartsWith("x"));
  EXPECT_EQ(NameOf({.peer = "x\ny", .local = false, .user = {}}).find('\n'), std::string::npos);
}

}  // namespace
}  // namespace baton::access
