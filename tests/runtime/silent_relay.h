// A relay of one TCP connection that falls silent on request: both ends stay open and their kernels
// acknowledge data, but nobody reads it, as when a host freezes. It can then relay another one.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace baton::runtime {

class SilentRelay {
 public:
  /// Relays to 127.0.0.1:`target`.
  explicit SilentRelay(std::uint16_t target) : target_(target) {
    sockaddr_in address = Loopback(0);
    socklen_t size = sizeof address;
    bind(listener_, reinterpret_cast<const sockaddr*>(&address), size);
    listen(listener_, 1);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    endpoint_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    if (pipe(wake_.data()) != 0) return;
    thread_ = std::thread([this] { Run(); });
  }
  ~SilentRelay() {
    FallSilent();
    for (const int one : ends_) close(one);
    for (const int one : {listener_, wake_[0], wake_[1]}) close(one);
  }
  SilentRelay(const SilentRelay&) = delete;
  SilentRelay& operator=(const SilentRelay&) = delete;

  const std::string& endpoint() const { return endpoint_; }
  /// From now on it passes nothing on.
  void FallSilent() {
    if (!thread_.joinable()) return;
    if (write(wake_[1], "", 1) == 1) thread_.join();
  }
  /// Relays the next connection, too; the silent one stays as it is. REQUIRES: FallSilent.
  void RelayAnother() {
    char byte = 0;
    if (read(wake_[0], &byte, 1) == 1) thread_ = std::thread([this] { Run(); });
  }

 private:
  static sockaddr_in Loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }

  void Run() {
    if (!Await(listener_, -1)) return;
    const int near = accept(listener_, nullptr, nullptr);
    const int far = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ends_.insert(ends_.end(), {near, far});
    const sockaddr_in address = Loopback(target_);
    if (connect(far, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return;
    while (Await(near, far) && Pass(near, far) && Pass(far, near)) {
    }
  }
  /// Waits until one end has data; false: FallSilent was called.
  bool Await(int first, int second) const {
    std::array<pollfd, 3> waiting{{{wake_[0], POLLIN, 0}, {first, POLLIN, 0}, {second, POLLIN, 0}}};
    poll(waiting.data(), waiting.size(), -1);
    return waiting[0].revents == 0;
  }
  static bool Pass(int from, int to) {
    std::array<char, 65536> bytes{};
    const ssize_t count = recv(from, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count == 0) return false;
    for (ssize_t sent = 0; sent < count;) {
      const ssize_t more = send(to, bytes.data() + sent, count - sent, MSG_NOSIGNAL);
      if (more < 0) return false;
      sent += more;
    }
    return true;
  }

  const std::uint16_t target_;
  const int listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::vector<int> ends_;  // the thread's, while it runs
  std::array<int, 2> wake_{-1, -1};
  std::string endpoint_;
  std::thread thread_;
};

}  // namespace baton::runtime
