// Sockets without a client library, also of other users of this host.
#pragma once

#include <arpa/inet.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace baton::e2e {

/// A connected socket to 127.0.0.1:port that is closed with this object.
class Socket {
 public:
  explicit Socket(std::uint16_t port) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
  }
  ~Socket() { close(socket_); }
  Socket(Socket&& other) noexcept
      : socket_(std::exchange(other.socket_, -1)), connected_(other.connected_) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  bool connected() const { return connected_; }
  int descriptor() const { return socket_; }
  bool Send(const std::string& bytes) const {
    return send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  /// From now on Send gives up if the other side reads nothing for this time.
  void LimitSend(std::chrono::seconds patience) const {
    const timeval limit{.tv_sec = patience.count(), .tv_usec = 0};
    setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  }
  /// The other side has sent something.
  bool Heard() const {
    char byte = 0;
    return recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
  }
  /// The bytes that the other side has sent since the last call.
  std::string Take() const {
    std::string taken;
    char bytes[4096];
    for (ssize_t count; (count = recv(socket_, bytes, sizeof bytes, MSG_DONTWAIT)) > 0;) {
      taken.append(bytes, static_cast<std::size_t>(count));
    }
    return taken;
  }
  /// The other side has closed it, with or without an answer.
  bool Refused() const {
    Take();
    return Closed();
  }
  /// The other side has closed it and sent nothing.
  bool Closed() const {
    char byte = 0;
    const ssize_t count = recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return count == 0 || (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
  }

 private:
  int socket_;
  bool connected_ = false;
};

/// A connection of another user of this host. REQUIRES: this process is root's.
inline Socket ConnectAs(uid_t user, std::uint16_t port) {
  std::optional<Socket> socket;
  // The user id that new sockets get belongs to the thread.
  std::thread([&] {
    setfsuid(user);
    socket.emplace(port);
  }).join();
  return *std::move(socket);
}

inline std::uint16_t PortOf(const std::string& endpoint) {
  return static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1)));
}

}  // namespace baton::e2e
