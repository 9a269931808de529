#include "app/common/port_reservation.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/endpoint.h"

namespace baton::app {
namespace {

using Found = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Error CannotListen(const http::Address& address, const char* why) {
  return {ErrorCode::kUnavailable,
          fmt::format("can't listen on {}: {}", http::FormatAddress(address), why)};
}

/// Binds a socket to `where`. Returns -1 and sets errno if that fails.
int Bind(const addrinfo& where) {
  const int bound = socket(where.ai_family, where.ai_socktype | SOCK_CLOEXEC, where.ai_protocol);
  if (bound < 0) return -1;
  const int on = 1;
  const bool done = setsockopt(bound, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
                    bind(bound, where.ai_addr, where.ai_addrlen) == 0;
  if (done) return bound;
  const int why = errno;
  close(bound);
  errno = why;
  return -1;
}

std::uint16_t PortOf(int bound) {
  sockaddr_storage name{};
  socklen_t length = sizeof name;
  getsockname(bound, reinterpret_cast<sockaddr*>(&name), &length);
  return ntohs(name.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&name)->sin6_port
                                          : reinterpret_cast<sockaddr_in*>(&name)->sin_port);
}

}  // namespace

Result<PortReservation> PortReservation::Take(const http::Address& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const std::string port = std::to_string(address.port);
  const std::string host = HostToListenOn(address.host);
  const int failed = getaddrinfo(host.c_str(), port.c_str(), &hints, &list);
  if (failed != 0) return CannotListen(address, gai_strerror(failed));
  const Found found(list, freeaddrinfo);
  const int bound = Bind(*found);
  if (bound < 0) return CannotListen(address, std::strerror(errno));
  std::array<char, NI_MAXHOST> numeric{};
  getnameinfo(found->ai_addr, found->ai_addrlen, numeric.data(), numeric.size(), nullptr, 0,
              NI_NUMERICHOST);
  return PortReservation(bound, {numeric.data(), PortOf(bound)});
}

PortReservation::PortReservation(int socket, http::Address address)
    : socket_(socket), address_(std::move(address)) {}

PortReservation::PortReservation(PortReservation&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), address_(std::move(other.address_)) {}

PortReservation::~PortReservation() {
  if (socket_ >= 0) close(socket_);
}

}  // namespace baton::app
