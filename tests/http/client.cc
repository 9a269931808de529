#include "http/client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <utility>

namespace baton::http {
namespace {

constexpr int kPatienceMs = 20'000;  // far above every limit under test
constexpr std::string_view kHeadEnd = "\r\n\r\n";

}  // namespace

Client::Client(std::uint16_t port, const char* from) {
  socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in own{};
  own.sin_family = AF_INET;
  inet_pton(AF_INET, from, &own.sin_addr);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(socket_, reinterpret_cast<const sockaddr*>(&own), sizeof own) == 0 &&
      connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    return;
  }
  close(socket_);
  socket_ = -1;
}

Client::~Client() {
  if (socket_ >= 0) close(socket_);
}

void Client::Reset() {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  close(std::exchange(socket_, -1));
}

Client::Client(Client&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), unread_(std::move(other.unread_)) {}

bool Client::Readable() const {
  pollfd waiting{socket_, POLLIN, 0};
  return poll(&waiting, 1, 0) > 0;
}

void Client::CloseSending() { shutdown(socket_, SHUT_WR); }

bool Client::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool Client::Fill(bool* closed) {
  if (socket_ < 0) {  // it never connected; poll would ignore it and wait
    if (closed != nullptr) *closed = true;
    return false;
  }
  pollfd waiting{socket_, POLLIN, 0};
  if (poll(&waiting, 1, kPatienceMs) <= 0) return false;
  std::array<char, 65536> bytes{};
  const ssize_t count = recv(socket_, bytes.data(), bytes.size(), 0);
  if (count <= 0) {
    if (closed != nullptr) *closed = true;
    return false;
  }
  unread_.append(bytes.data(), static_cast<std::size_t>(count));
  return true;
}

std::string Client::Receive(bool head_request) {
  while (unread_.find(kHeadEnd) == std::string::npos) {
    if (!Fill(nullptr)) return std::exchange(unread_, {});
  }
  std::size_t length = unread_.find(kHeadEnd) + kHeadEnd.size();
  if (!head_request) {
    length += std::strtoul(HeaderOf(unread_, "Content-Length").c_str(), nullptr, 10);
  }
  while (unread_.size() < length) {
    if (!Fill(nullptr)) return std::exchange(unread_, {});
  }
  std::string response = unread_.substr(0, length);
  unread_.erase(0, length);
  return response;
}

std::string Client::ReceiveUntil(std::string_view end) {
  while (unread_.find(end) == std::string::npos) {
    if (!Fill(nullptr)) return std::exchange(unread_, {});
  }
  const std::size_t length = unread_.find(end);
  std::string text = unread_.substr(0, length);
  unread_.erase(0, length + end.size());
  return text;
}

std::string Client::ReceiveAll(bool* closed) {
  if (closed != nullptr) *closed = false;
  while (Fill(closed)) {
  }
  return std::exchange(unread_, {});
}

std::string Get(std::uint16_t port, const std::string& target) {
  Client client(port);
  client.Send("GET " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  return client.Receive();
}

int StatusOf(const std::string& response) {
  constexpr std::string_view kStart = "HTTP/1.1 ";
  if (!response.starts_with(kStart)) return 0;
  return std::atoi(response.c_str() + kStart.size());
}

std::string BodyOf(const std::string& response) {
  const std::size_t end = response.find(kHeadEnd);
  return end == std::string::npos ? "" : response.substr(end + kHeadEnd.size());
}

std::string HeaderOf(const std::string& response, const std::string& name) {
  const std::string head = response.substr(0, response.find(kHeadEnd));
  const std::string line = "\r\n" + name + ": ";
  const std::size_t start = head.find(line);
  if (start == std::string::npos) return "";
  const std::size_t value = start + line.size();
  return head.substr(value, head.find("\r\n", value) - value);
}

}  // namespace baton::http
