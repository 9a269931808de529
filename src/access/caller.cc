#include "access/caller.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/address_v6.hpp>
#include <charconv>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/escape.h"

namespace baton::access {
namespace {

using boost::asio::ip::address;

constexpr std::size_t kLongestPeer = 128;
constexpr timeval kPatience{.tv_sec = 1, .tv_usec = 0};  // the kernel answers at once

struct Endpoint {
  address host;
  std::uint16_t port = 0;
};

/// An IPv4 address in IPv6's clothes is the IPv4 address.
address Plain(const address& given) {
  if (!given.is_v6() || !given.to_v6().is_v4_mapped()) return given;
  return boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, given.to_v6());
}

/// Reads ipv4:127.0.0.1:4711 or ipv6:[::1]:4711. gRPC percent-encodes the brackets since 1.44.
std::optional<Endpoint> EndpointOf(std::string peer) {
  for (const auto& [code, bracket] : {std::pair("%5B", "["), std::pair("%5D", "]")}) {
    if (const auto at = peer.find(code); at != std::string::npos) peer.replace(at, 3, bracket);
  }
  if (!peer.starts_with("ipv4:") && !peer.starts_with("ipv6:")) return std::nullopt;
  const auto colon = peer.rfind(':');
  std::string host = peer.substr(5, colon - 5);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  Endpoint found;
  boost::system::error_code failed;
  found.host = Plain(boost::asio::ip::make_address(host, failed));
  const char* const end = peer.data() + peer.size();
  const auto [stop, wrong] = std::from_chars(peer.data() + colon + 1, end, found.port);
  if (failed || wrong != std::errc() || stop != end) return std::nullopt;
  return found;
}

void Set(__be32 (&into)[4], const address& host) {
  if (host.is_v4()) {
    const auto bytes = host.to_v4().to_bytes();
    std::memcpy(into, bytes.data(), bytes.size());
  } else {
    const auto bytes = host.to_v6().to_bytes();
    std::memcpy(into, bytes.data(), bytes.size());
  }
}

/// Asks the kernel for the one socket that is connected from `own` to `other`.
std::optional<uid_t> UserOfSocket(int netlink, const Endpoint& own, const Endpoint& other) {
  struct {
    nlmsghdr header;
    inet_diag_req_v2 request;
  } ask{};
  ask.header.nlmsg_len = sizeof ask;
  ask.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  ask.header.nlmsg_flags = NLM_F_REQUEST;
  ask.request.sdiag_family = own.host.is_v4() ? AF_INET : AF_INET6;
  ask.request.sdiag_protocol = IPPROTO_TCP;
  ask.request.idiag_states = 1U << TCP_ESTABLISHED;
  ask.request.id.idiag_sport = htons(own.port);
  ask.request.id.idiag_dport = htons(other.port);
  Set(ask.request.id.idiag_src, own.host);
  Set(ask.request.id.idiag_dst, other.host);
  ask.request.id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
  ask.request.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  if (send(netlink, &ask, sizeof ask, 0) != static_cast<ssize_t>(sizeof ask)) return std::nullopt;
  alignas(nlmsghdr) std::array<char, 2048> answer{};
  const ssize_t size = recv(netlink, answer.data(), answer.size(), 0);
  constexpr std::size_t kLeast = NLMSG_HDRLEN + sizeof(inet_diag_msg);
  if (size < static_cast<ssize_t>(kLeast)) return std::nullopt;
  nlmsghdr header{};
  inet_diag_msg socket{};
  std::memcpy(&header, answer.data(), sizeof header);
  std::memcpy(&socket, answer.data() + NLMSG_HDRLEN, sizeof socket);
  if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY) return std::nullopt;
  // Without such a connection the kernel answers with a listener of that port. And a socket that no
  // process has any more belongs to root in the kernel's answer.
  const bool ours = socket.idiag_state == TCP_ESTABLISHED && socket.idiag_inode != 0 &&
                    socket.id.idiag_sport == htons(own.port) &&
                    socket.id.idiag_dport == htons(other.port);
  if (!ours) return std::nullopt;
  return socket.idiag_uid;
}

std::optional<uid_t> UserOf(const Endpoint& caller, const ServedAt& served) {
  if (served.port == 0) return std::nullopt;
  // The server's end of the connection, as far as it is known.
  std::vector<address> hosts{caller.host};
  boost::system::error_code failed;
  const address listens = Plain(boost::asio::ip::make_address(served.host, failed));
  if (!failed && !listens.is_unspecified()) hosts.push_back(listens);
  hosts.push_back(caller.host.is_v4() ? address(boost::asio::ip::address_v4::loopback())
                                      : address(boost::asio::ip::address_v6::loopback()));
  const int netlink = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (netlink < 0) return std::nullopt;
  setsockopt(netlink, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  std::optional<uid_t> user;
  for (const address& host : hosts) {
    if (!user && host.is_v4() == caller.host.is_v4()) {
      user = UserOfSocket(netlink, caller, {host, served.port});
    }
  }
  close(netlink);
  return user;
}

}  // namespace

Caller IdentifyCaller(std::string peer, const ServedAt& served) {
  Caller caller{.peer = std::move(peer), .local = false, .user = std::nullopt};
  caller.local = IsLocalPeer(caller.peer);
  if (!caller.local) return caller;
  if (caller.peer.starts_with("unix:")) {
    caller.user = geteuid();
  } else if (const std::optional<Endpoint> endpoint = EndpointOf(caller.peer)) {
    caller.user = UserOf(*endpoint, served);
  }
  return caller;
}

std::string NameOf(const Caller& caller) {
  if (!caller.user) return OneLine(caller.peer, kLongestPeer);
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 4096> buffer{};
  if (getpwuid_r(*caller.user, &entry, buffer.data(), buffer.size(), &found) != 0 ||
      found == nullptr) {
    return fmt::format("uid {}", *caller.user);
  }
  return fmt::format("{} (uid {})", OneLine(found->pw_name, kLongestPeer), *caller.user);
}

bool IsLocalPeer(std::string_view peer) {
  // gRPC percent-encodes the brackets of an IPv6 address since 1.44; earlier versions do not.
  static constexpr std::string_view kLocal[] = {
      "ipv4:127.",           "ipv6:[::1]:", "ipv6:%5B::1%5D:", "ipv6:[::ffff:127.",
      "ipv6:%5B::ffff:127.", "unix:",       "unix-abstract:"};
  for (const std::string_view prefix : kLocal) {
    if (peer.substr(0, prefix.size()) == prefix) return true;
  }
  return false;
}

}  // namespace baton::access
