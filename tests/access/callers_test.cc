// The user who opened a connection, as this machine's kernel says.
#include "access/callers.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace baton::access {
namespace {

constexpr uid_t kSomebody = 61234;
constexpr int kFamilies[] = {AF_INET, AF_INET6};

sockaddr_storage AddressOf(int family, const std::string& host, std::uint16_t port) {
  sockaddr_storage storage{};
  storage.ss_family = static_cast<sa_family_t>(family);
  if (family == AF_INET) {
    auto& in = reinterpret_cast<sockaddr_in&>(storage);
    in.sin_port = htons(port);
    EXPECT_EQ(inet_pton(AF_INET, host.c_str(), &in.sin_addr), 1);
  } else {
    auto& in = reinterpret_cast<sockaddr_in6&>(storage);
    in.sin6_port = htons(port);
    EXPECT_EQ(inet_pton(AF_INET6, host.c_str(), &in.sin6_addr), 1);
  }
  return storage;
}

int NewSocket(int family, const std::string& host, std::uint16_t port) {
  const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const sockaddr_storage address = AddressOf(family, host, port);
  EXPECT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0) << host;
  return fd;
}

std::uint16_t PortOf(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size);
  return ntohs(storage.ss_family == AF_INET ? reinterpret_cast<sockaddr_in&>(storage).sin_port
                                            : reinterpret_cast<sockaddr_in6&>(storage).sin6_port);
}

/// Both ends of a connection.
struct Connection {
  int client = -1;
  int server = -1;
  std::uint16_t port = 0;  ///< of the client
  std::string peer;        ///< as gRPC names it

  void CloseClient() {
    // With a reset, so that the port is free at once.
    const linger now{.l_onoff = 1, .l_linger = 0};
    setsockopt(client, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(std::exchange(client, -1));
  }
  void Close() {
    if (client >= 0) CloseClient();
    if (server >= 0) close(std::exchange(server, -1));
  }
};

class Listener {
 public:
  Listener(int family, const std::string& host)
      : host_(host), family_(family), socket_(NewSocket(family, host, 0)) {
    EXPECT_EQ(listen(socket_, 16), 0);
  }
  ~Listener() { close(socket_); }

  const std::string& host() const { return host_; }

  /// Connects from `from` to `to` as this user, who must be ourselves unless we are root.
  Connection Connect(uid_t user, const std::string& from, const std::string& to,
                     std::uint16_t from_port = 0, int client_family = 0) {
    Connection made;
    if (client_family == 0) client_family = family_;
    // The user id that new sockets get belongs to the thread.
    std::thread([&] {
      setfsuid(user);
      made.client = NewSocket(client_family, from, from_port);
      const sockaddr_storage address = AddressOf(client_family, to, PortOf(socket_));
      EXPECT_EQ(connect(made.client, reinterpret_cast<const sockaddr*>(&address), sizeof address),
                0);
    }).join();
    made.server = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    made.port = PortOf(made.client);
    made.peer = client_family == AF_INET ? fmt::format("ipv4:{}:{}", from, made.port)
                                         : fmt::format("ipv6:%5B{}%5D:{}", from, made.port);
    return made;
  }

 private:
  const std::string host_;
  const int family_;
  const int socket_;
};

std::string LoopbackOf(int family) { return family == AF_INET ? "127.0.0.1" : "::1"; }
std::string AnyOf(int family) { return family == AF_INET ? "0.0.0.0" : "::"; }

TEST(Callers, TheKernelKnowsTheUserOfALoopbackConnection) {
  for (const int family : kFamilies) {
    for (const std::string& host : {LoopbackOf(family), AnyOf(family)}) {
      Callers callers;
      Listener listener(family, host);
      const std::string loopback = LoopbackOf(family);
      Connection connection = listener.Connect(geteuid(), loopback, loopback);
      const auto noted = callers.Note(connection.server, host);
      ASSERT_TRUE(noted.has_value());
      EXPECT_EQ(noted->user, geteuid());
      EXPECT_EQ(noted->peer, CallerOfConnection(connection.server).peer);
      EXPECT_EQ(callers.UserOf(connection.peer), geteuid()) << connection.peer;
      connection.Close();
    }
  }
}

TEST(Callers, OverIPv6OnAllAddressesAnIPv4CallerIsKnown) {
  Callers callers;
  Listener listener(AF_INET6, "::");
  Connection connection = listener.Connect(geteuid(), "127.0.0.1", "127.0.0.1", 0, AF_INET);
  EXPECT_TRUE(callers.Note(connection.server, "::"));
  EXPECT_EQ(callers.UserOf(connection.peer), geteuid());
  connection.Close();
}

// gRPC's clients connect so.
TEST(Callers, ASocketOfIPv6ThatTalksIPv4IsKnown) {
  Callers callers;
  Listener listener(AF_INET, "127.0.0.1");
  Connection connection =
      listener.Connect(geteuid(), "::ffff:127.0.0.1", "::ffff:127.0.0.1", 0, AF_INET6);
  EXPECT_TRUE(callers.Note(connection.server, "127.0.0.1"));
  EXPECT_EQ(callers.UserOf(fmt::format("ipv4:127.0.0.1:{}", connection.port)), geteuid());
  connection.Close();
}

TEST(Callers, AnotherLoopbackAddressIsServedIfWeListenOnIt) {
  Callers callers;
  Listener listener(AF_INET, "127.0.0.77");
  Connection connection = listener.Connect(geteuid(), "127.0.0.1", "127.0.0.77");
  EXPECT_TRUE(callers.Note(connection.server, "127.0.0.77"));
  EXPECT_EQ(callers.UserOf(connection.peer), geteuid());
  connection.Close();
}

// Otherwise each of 16 million addresses could add its ports to what is remembered.
TEST(Callers, AConnectionFromAnotherLoopbackAddressIsTurnedAway) {
  Callers callers;
  Listener listener(AF_INET, "127.0.0.1");
  Connection connection = listener.Connect(geteuid(), "127.0.0.77", "127.0.0.1");
  EXPECT_FALSE(callers.Note(connection.server, "127.0.0.1"));
  connection.Close();
}

// Plan: the caller's socket is bound to a device, and another one has closed its sending side. Both
// are connections all the same.
TEST(Callers, BoundAndHalfClosedSocketsAreKnown) {
  Listener listener(AF_INET, "127.0.0.1");
  Connection half = listener.Connect(geteuid(), "127.0.0.1", "127.0.0.1");
  shutdown(half.client, SHUT_WR);
  EXPECT_EQ(CallerOfConnection(half.server).user, geteuid());
  EXPECT_EQ(CallerOfConnection(half.server).peer, half.peer);
  half.CloseClient();
  EXPECT_FALSE(CallerOfConnection(half.server).user.has_value()) << "nobody has it any more";
  half.Close();
  Connection bound = listener.Connect(geteuid(), "127.0.0.1", "127.0.0.1");
  if (setsockopt(bound.client, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3) == 0) {
    EXPECT_EQ(CallerOfConnection(bound.server).user, geteuid());
  }
  bound.Close();
}

TEST(Callers, OverAUnixSocketTheKernelSaysWhoConnected) {
  int ends[2] = {};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const Caller caller = CallerOfConnection(ends[0]);
  EXPECT_EQ(caller.user, geteuid());
  EXPECT_TRUE(IsLocalPeer(caller.peer));
  for (const int end : ends) close(end);
}

TEST(Callers, AnotherUsersConnectionIsAnotherUsers) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can connect as somebody else";
  Callers callers;
  Listener listener(AF_INET, "127.0.0.1");
  Connection other = listener.Connect(kSomebody, "127.0.0.1", "127.0.0.1");
  Connection ours = listener.Connect(0, "127.0.0.1", "127.0.0.1");
  EXPECT_TRUE(callers.Note(other.server, "127.0.0.1"));
  EXPECT_TRUE(callers.Note(ours.server, "127.0.0.1"));
  EXPECT_EQ(callers.UserOf(other.peer), kSomebody);
  EXPECT_EQ(callers.UserOf(ours.peer), 0U);
  other.Close();
  ours.Close();
}

// Plan: two users hold the same address and port, to different addresses of a server that listens
// on all. gRPC names both the same, so the one who takes the unusual way is turned away.
TEST(Callers, NobodyIsTakenForAnotherAtTheSamePort) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can connect as somebody else";
  for (const bool stranger_first : {false, true}) {
    Callers callers;
    Listener listener(AF_INET, "0.0.0.0");
    Connection root, stranger;
    const auto connect_root = [&] {
      root = listener.Connect(0, "127.0.0.1", "127.0.0.1", stranger.port);
      EXPECT_TRUE(callers.Note(root.server, "0.0.0.0"));
    };
    const auto connect_stranger = [&] {
      stranger = listener.Connect(kSomebody, "127.0.0.1", "127.0.0.2", root.port);
      EXPECT_FALSE(callers.Note(stranger.server, "0.0.0.0"));
    };
    if (stranger_first) connect_stranger();
    connect_root();
    if (!stranger_first) connect_stranger();
    EXPECT_EQ(root.port, stranger.port);
    EXPECT_EQ(callers.UserOf(root.peer), 0U);
    root.Close();
    stranger.Close();
  }
}

// Plan: a call of one who hung up may be on its way to its handler when the next one connects from
// the same port. Nobody is known there for a while.
TEST(Callers, APortThatChangedHandsIsNobodysForAWhile) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can connect as somebody else";
  Callers callers;
  Listener listener(AF_INET, "127.0.0.1");
  Connection stranger = listener.Connect(kSomebody, "127.0.0.1", "127.0.0.1");
  EXPECT_TRUE(callers.Note(stranger.server, "127.0.0.1"));
  stranger.CloseClient();
  Connection root = listener.Connect(0, "127.0.0.1", "127.0.0.1", stranger.port);
  EXPECT_TRUE(callers.Note(root.server, "127.0.0.1"));
  EXPECT_EQ(root.peer, stranger.peer);
  EXPECT_FALSE(callers.UserOf(root.peer).has_value());
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!callers.UserOf(root.peer) && std::chrono::steady_clock::now() < patience) {
    std::this_thread::yield();
  }
  EXPECT_EQ(callers.UserOf(root.peer), 0U);
  root.Close();
  stranger.Close();
}

// Plan: a port changes hands, and calls wait for their handlers until after kContested. As long as
// that is so, a call of the first user may still come.
TEST(Callers, APortThatChangedHandsIsNobodysWhileCallsAreLate) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can connect as somebody else";
  Callers callers;
  Listener listener(AF_INET, "127.0.0.1");
  Connection other = listener.Connect(0, "127.0.0.1", "127.0.0.1");
  EXPECT_TRUE(callers.Note(other.server, "127.0.0.1"));
  Connection stranger = listener.Connect(kSomebody, "127.0.0.1", "127.0.0.1");
  EXPECT_TRUE(callers.Note(stranger.server, "127.0.0.1"));
  stranger.CloseClient();
  Connection root = listener.Connect(0, "127.0.0.1", "127.0.0.1", stranger.port);
  EXPECT_TRUE(callers.Note(root.server, "127.0.0.1"));
  const auto until = std::chrono::steady_clock::now() + Callers::kContested * 3 / 2;
  while (std::chrono::steady_clock::now() < until) {
    callers.NoteLate();
    EXPECT_FALSE(callers.UserOf(root.peer).has_value());
    EXPECT_EQ(callers.UserOf(other.peer), 0U) << "it never changed hands";
    std::this_thread::yield();
  }
  for (Connection* each : {&other, &stranger, &root}) each->Close();
}

// Plan: a port changed hands some seconds before calls begin to be late. Nothing that is under way
// can be the first user's.
TEST(Callers, APortThatChangedHandsLongAgoIsKnownWhileCallsAreLate) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can connect as somebody else";
  Callers callers;
  Listener listener(AF_INET, "127.0.0.1");
  Connection stranger = listener.Connect(kSomebody, "127.0.0.1", "127.0.0.1");
  EXPECT_TRUE(callers.Note(stranger.server, "127.0.0.1"));
  stranger.CloseClient();
  Connection root = listener.Connect(0, "127.0.0.1", "127.0.0.1", stranger.port);
  EXPECT_TRUE(callers.Note(root.server, "127.0.0.1"));
  const auto until = std::chrono::steady_clock::now() + Callers::kContested;
  while (std::chrono::steady_clock::now() < until) std::this_thread::yield();
  callers.NoteLate();
  EXPECT_EQ(callers.UserOf(root.peer), 0U);
  for (Connection* each : {&stranger, &root}) each->Close();
}

// The same user on the same port is known at once.
TEST(Callers, APortThatComesBackToItsUserIsKnown) {
  Callers callers;
  Listener listener(AF_INET, "127.0.0.1");
  Connection first = listener.Connect(geteuid(), "127.0.0.1", "127.0.0.1");
  EXPECT_TRUE(callers.Note(first.server, "127.0.0.1"));
  first.Close();
  Connection again = listener.Connect(geteuid(), "127.0.0.1", "127.0.0.1", first.port);
  EXPECT_TRUE(callers.Note(again.server, "127.0.0.1"));
  EXPECT_EQ(callers.UserOf(again.peer), geteuid());
  again.Close();
}

// Plan: the kernel says root of a socket that no process has any more. Nobody becomes root by
// hanging up, in order or with a reset.
TEST(Callers, WhoHungUpIsNobody) {
  for (const bool reset : {false, true}) {
    Callers callers;
    Listener listener(AF_INET, "127.0.0.1");
    Connection known = listener.Connect(geteuid(), "127.0.0.1", "127.0.0.1");
    EXPECT_TRUE(callers.Note(known.server, "127.0.0.1")) << "the kernel names users here";
    known.Close();
    Connection connection = listener.Connect(geteuid(), "127.0.0.1", "127.0.0.1");
    if (reset) {
      connection.CloseClient();
    } else {
      close(std::exchange(connection.client, -1));
    }
    EXPECT_FALSE(callers.Note(connection.server, "127.0.0.1")) << reset;
    EXPECT_FALSE(callers.UserOf(connection.peer).has_value()) << reset;
    connection.Close();
  }
}

TEST(Callers, OfPeersThatAreNotKnownOrCantBeReadNobodyIsSaid) {
  const Callers callers;
  for (const char* peer : {"", "ipv4:", "ipv4:127.0.0.1", "ipv4:127.0.0.1:", "ipv4:127.0.0.1:x",
                           "ipv4:127.0.0.1:99999", "ipv4:127.0.0.1:5", "ipv6:[::1]:5",
                           "ipv6:[::1]:", "ipv6:%5B::1%5D:70000", "ipv4:300.0.0.1:5", "unix:/run/x",
                           "unix-abstract:x"}) {
    EXPECT_FALSE(callers.UserOf(peer).has_value()) << peer;
  }
}

TEST(Callers, AtTrustedUnixSocketsEverybodyIsThisUser) {
  Callers callers;
  callers.TrustUnixSockets();
  for (const char* peer : {"unix:", "unix:/run/x", "unix-abstract:x"}) {
    EXPECT_EQ(callers.UserOf(peer), geteuid()) << peer;
  }
  EXPECT_FALSE(callers.UserOf("ipv4:127.0.0.1:5").has_value());
}

TEST(Callers, KnowsLocalPeers) {
  for (const char* peer : {"ipv4:127.0.0.1:5", "ipv4:127.8.0.1:5", "ipv6:[::1]:5",
                           "ipv6:%5B::1%5D:5", "unix:/run/x", "unix-abstract:x"}) {
    EXPECT_TRUE(IsLocalPeer(peer)) << peer;
  }
  for (const char* peer : {"ipv4:10.0.0.1:5", "ipv4:1.127.0.1:5", "ipv6:[::2]:5",
                           "ipv6:%5B::12%5D:5", "", "unknown"}) {
    EXPECT_FALSE(IsLocalPeer(peer)) << peer;
  }
}

}  // namespace
}  // namespace baton::access
