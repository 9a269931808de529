// TcpPair: a real TCP connection of which a test has both ends.
#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

namespace baton {

/// Two ends of a TCP connection on this host.
struct TcpPair {
  explicit TcpPair(int family = AF_INET) {
    const int listener = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in6 at{};  // also has room for a sockaddr_in
    at.sin6_family = static_cast<sa_family_t>(family);
    if (family == AF_INET6) at.sin6_addr = in6addr_loopback;
    auto* const address = reinterpret_cast<sockaddr*>(&at);
    if (family == AF_INET) {
      reinterpret_cast<sockaddr_in*>(&at)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    }
    socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof at;
    EXPECT_EQ(bind(listener, address, size), 0);
    EXPECT_EQ(listen(listener, 1), 0);
    EXPECT_EQ(getsockname(listener, address, &size), 0);
    client = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    // A port of its own: by themselves, clients of several listeners may get the same one.
    sockaddr_in6 own = at;
    own.sin6_port = 0;
    EXPECT_EQ(bind(client, reinterpret_cast<sockaddr*>(&own), size), 0);
    EXPECT_EQ(connect(client, address, size), 0);
    server = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    const int on = 1;  // what is sent arrives at once
    for (const int end : {client, server}) {
      EXPECT_EQ(setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), 0);
    }
    close(listener);
  }
  ~TcpPair() { Close(); }
  void Close() {
    for (int* const end : {&client, &server}) {
      if (*end >= 0) close(*end);
      *end = -1;
    }
  }
  void Send(std::size_t bytes) const {
    const std::string sent(bytes, 'x');
    EXPECT_EQ(send(client, sent.data(), sent.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(sent.size()));
  }
  /// Sends, and reads all of it on the other side.
  void SendAndRead(std::size_t bytes) const {
    std::string read(std::size_t{1} << 14, 'x');
    while (bytes > 0) {
      const std::size_t part = std::min(bytes, read.size());
      Send(part);
      EXPECT_EQ(recv(server, read.data(), part, MSG_WAITALL), static_cast<ssize_t>(part));
      bytes -= part;
    }
  }
  /// Sends the other way, and reads all of it.
  void Answer(std::size_t bytes) const {
    std::string answer(bytes, 'x');
    EXPECT_EQ(send(server, answer.data(), answer.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(answer.size()));
    EXPECT_EQ(recv(client, answer.data(), answer.size(), MSG_WAITALL),
              static_cast<ssize_t>(answer.size()));
  }
  std::uint16_t ClientPort() const {
    sockaddr_in6 at{};  // the port has the same place in a sockaddr_in
    socklen_t size = sizeof at;
    EXPECT_EQ(getsockname(client, reinterpret_cast<sockaddr*>(&at), &size), 0);
    return ntohs(at.sin6_port);
  }
  /// The server's end was shut down.
  bool Ended() const {
    char byte = 0;
    return recv(client, &byte, 1, MSG_DONTWAIT) == 0;
  }

  int client = -1;
  int server = -1;
};

}  // namespace baton
