#include "access/callers.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/ip/address.hpp>
#include <charconv>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

#include "base/escape.h"

namespace baton::access {
namespace {

using boost::asio::ip::address;

constexpr timeval kPatience{.tv_sec = 1, .tv_usec = 0};  // the kernel answers at once
constexpr std::uint32_t kSequence = 1;
constexpr std::size_t kLongestCertificate = 256;  // of its name in messages
constexpr std::uint64_t kAllUsers = 4'294'967'295;

struct Endpoint {
  address host;
  std::uint16_t port = 0;
};

/// An IPv4-mapped IPv6 address is the IPv4 address.
address Plain(const address& given) {
  if (!given.is_v6() || !given.to_v6().is_v4_mapped()) return given;
  return boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, given.to_v6());
}

std::optional<Endpoint> EndpointOf(const sockaddr_storage& storage) {
  if (storage.ss_family == AF_INET) {
    const auto& in = reinterpret_cast<const sockaddr_in&>(storage);
    return Endpoint{boost::asio::ip::address_v4(ntohl(in.sin_addr.s_addr)), ntohs(in.sin_port)};
  }
  if (storage.ss_family != AF_INET6) return std::nullopt;
  const auto& in = reinterpret_cast<const sockaddr_in6&>(storage);
  boost::asio::ip::address_v6::bytes_type bytes;
  std::memcpy(bytes.data(), &in.sin6_addr, bytes.size());
  return Endpoint{Plain(boost::asio::ip::address_v6(bytes)), ntohs(in.sin6_port)};
}

/// Reads ipv4:127.0.0.1:4711 or ipv6:[::1]:4711. gRPC percent-encodes the brackets since 1.44.
std::optional<Endpoint> EndpointOf(std::string_view text) {
  std::string peer(text);
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

struct KernelAddress {
  __be32 words[4] = {};
  explicit KernelAddress(const address& host) {
    if (host.is_v4()) {
      const auto bytes = host.to_v4().to_bytes();
      std::memcpy(words, bytes.data(), bytes.size());
    } else {
      const auto bytes = host.to_v6().to_bytes();
      std::memcpy(words, bytes.data(), bytes.size());
    }
  }
};

address HostOf(std::uint8_t family, const __be32 (&words)[4]) {
  if (family == AF_INET) return boost::asio::ip::address_v4(ntohl(words[0]));
  boost::asio::ip::address_v6::bytes_type bytes;
  std::memcpy(bytes.data(), words, bytes.size());
  return Plain(boost::asio::ip::address_v6(bytes));
}

/// Whether the answer is about the socket from `own` to `other`. A socket of IPv6 that talks IPv4
/// has mapped addresses.
bool IsAbout(const inet_diag_msg& answer, const Endpoint& own, const Endpoint& other) {
  return answer.id.idiag_sport == htons(own.port) && answer.id.idiag_dport == htons(other.port) &&
         HostOf(answer.idiag_family, answer.id.idiag_src) == own.host &&
         HostOf(answer.idiag_family, answer.id.idiag_dst) == other.host;
}

/// The user of the one socket that is connected from `own` to `other`, if a process has it.
std::optional<uid_t> AskKernel(int netlink, const Endpoint& own, const Endpoint& other,
                               std::uint32_t device) {
  struct {
    nlmsghdr header;
    inet_diag_req_v2 request;
  } ask{};
  ask.header.nlmsg_len = sizeof ask;
  ask.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  ask.header.nlmsg_flags = NLM_F_REQUEST;
  ask.header.nlmsg_seq = kSequence;
  ask.request.sdiag_family = own.host.is_v4() ? AF_INET : AF_INET6;
  ask.request.sdiag_protocol = IPPROTO_TCP;
  ask.request.idiag_states = 1U << TCP_ESTABLISHED | 1U << TCP_FIN_WAIT1 | 1U << TCP_FIN_WAIT2;
  inet_diag_sockid& id = ask.request.id;
  id.idiag_sport = htons(own.port);
  id.idiag_dport = htons(other.port);
  std::memcpy(id.idiag_src, KernelAddress(own.host).words, sizeof id.idiag_src);
  std::memcpy(id.idiag_dst, KernelAddress(other.host).words, sizeof id.idiag_dst);
  id.idiag_if = device;
  id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
  id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  setsockopt(netlink, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  if (send(netlink, &ask, sizeof ask, 0) != static_cast<ssize_t>(sizeof ask)) return std::nullopt;
  alignas(nlmsghdr) std::array<char, 2048> answer{};
  sockaddr_nl sender{};
  socklen_t sender_size = sizeof sender;
  const ssize_t size = recvfrom(netlink, answer.data(), answer.size(), 0,
                                reinterpret_cast<sockaddr*>(&sender), &sender_size);
  constexpr std::size_t kLeast = NLMSG_HDRLEN + sizeof(inet_diag_msg);
  if (size < static_cast<ssize_t>(kLeast) || sender.nl_pid != 0) return std::nullopt;
  nlmsghdr header{};
  inet_diag_msg socket{};
  std::memcpy(&header, answer.data(), sizeof header);
  std::memcpy(&socket, answer.data() + NLMSG_HDRLEN, sizeof socket);
  if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY || header.nlmsg_seq != kSequence) {
    return std::nullopt;
  }
  // Without such a connection the kernel answers with a listener of that port. And it says root of
  // a socket that no process has any more. One whose sending side is closed still is a connection.
  const bool connected = socket.idiag_state == TCP_ESTABLISHED ||
                         socket.idiag_state == TCP_FIN_WAIT1 || socket.idiag_state == TCP_FIN_WAIT2;
  if (!connected || socket.idiag_inode == 0) return std::nullopt;
  if (!IsAbout(socket, own, other)) return std::nullopt;
  return socket.idiag_uid;
}

/// Whether the kernel has named the user of some connection. Then it names that of each whose other
/// end a process has.
std::atomic<bool>& KernelNamesUsers() {
  static std::atomic<bool> names{false};
  return names;
}

struct Answer {
  bool asked = false;  ///< false: this process has no socket to ask
  std::optional<uid_t> user = {};
};

Answer AskKernel(const Endpoint& own, const Endpoint& other) {
  const int netlink = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (netlink < 0) return {};
  // A socket that is bound to a device is found by that device alone.
  std::optional<uid_t> user = AskKernel(netlink, own, other, 0);
  if (!user) user = AskKernel(netlink, own, other, if_nametoindex("lo"));
  close(netlink);
  if (user) KernelNamesUsers() = true;
  return {.asked = true, .user = user};
}

/// Also if the other end has closed its sending side: until ours is gone, the other end's address
/// and port are not connected to ours a second time.
bool IsOpen(int connection) {
  tcp_info info{};
  socklen_t size = sizeof info;
  return getsockopt(connection, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
         (info.tcpi_state == TCP_ESTABLISHED || info.tcpi_state == TCP_CLOSE_WAIT);
}

/// In a user namespace that lacks some users, the kernel says the same number of all of these.
std::optional<uid_t> NumberOfUnmappedUsers() {
  std::ifstream map("/proc/self/uid_map");
  std::uint64_t inside = 0, outside = 0, count = 0;
  if (map >> inside >> outside >> count && inside == 0 && count >= kAllUsers) return std::nullopt;
  std::ifstream file("/proc/sys/kernel/overflowuid");
  uid_t number = 65534;
  file >> number;
  return number;
}

bool IsUsual(const address& loopback) {
  return loopback == address(boost::asio::ip::address_v4::loopback()) ||
         loopback == address(boost::asio::ip::address_v6::loopback());
}

/// The one address at which loopback callers are served. From one port, a caller could connect to
/// two addresses of the server; then its address and port would not identify the connection.
bool IsServedAt(const address& local, const std::string& listens_on) {
  boost::system::error_code failed;
  const address given = Plain(boost::asio::ip::make_address(listens_on, failed));
  return failed || given.is_unspecified() ? IsUsual(local) : local == given;
}

/// The two ends of a connection.
struct Ends {
  Endpoint local;
  Endpoint other;
};

std::optional<Ends> EndsOf(int connection) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (getpeername(connection, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return {};
  const auto other = EndpointOf(storage);
  size = sizeof storage;
  if (getsockname(connection, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return {};
  const auto local = EndpointOf(storage);
  if (!other || !local) return std::nullopt;
  return Ends{.local = *local, .other = *other};
}

/// The name as grpc::ServerContext::peer has it.
std::string PeerOf(const Endpoint& other) {
  const std::string host = other.host.to_string();
  return other.host.is_v4() ? fmt::format("ipv4:{}:{}", host, other.port)
                            : fmt::format("ipv6:[{}]:{}", host, other.port);
}

/// Unset if the number stands for every user that has no number here.
std::optional<uid_t> Mapped(std::optional<uid_t> user) {
  static const std::optional<uid_t> nobody = NumberOfUnmappedUsers();
  return user == nobody ? std::nullopt : user;
}

/// The user of the other end of a loopback connection.
std::optional<uid_t> UserOfLoopback(int connection, const Ends& ends) {
  const std::optional<uid_t> user = AskKernel(ends.other, ends.local).user;
  // Open still, so the answer was about this connection and none after it.
  return IsOpen(connection) ? Mapped(user) : std::nullopt;
}

}  // namespace

void Certify(Caller& caller, const ClientCertificate& certificate,
             std::chrono::system_clock::time_point now) {
  const bool over = now >= certificate.until;
  caller.certificate = over ? "" : certificate.name;
  caller.bad_certificate =
      over ? fmt::format("that of {} has expired", OneLine(certificate.name, kLongestCertificate))
           : "";
}

bool IsProven(const Caller& caller) {
  return !caller.token.empty() || !caller.certificate.empty() || caller.user.has_value();
}

std::string NameOf(const Caller& caller) {
  if (!caller.token.empty()) return "token " + caller.token;
  if (!caller.certificate.empty()) return OneLine(caller.certificate, kLongestCertificate);
  if (caller.user) return fmt::format("uid {}", *caller.user);
  return OneLine(caller.peer, kLongestPeerName);
}

// The number is read now, while descriptors are free.
Callers::Callers(std::function<void(uid_t)> noted) : noted_(std::move(noted)) {
  Mapped(std::nullopt);
}

std::optional<Caller> Callers::Note(int connection, const std::string& listens_on) {
  const auto ends = EndsOf(connection);
  // One that is over already gets no name, and its calls come to nothing.
  if (!ends) return std::nullopt;
  Caller caller{.peer = PeerOf(ends->other)};
  if (!ends->other.host.is_loopback()) return caller;
  if (!IsServedAt(ends->local.host, listens_on) || !IsUsual(ends->other.host)) return std::nullopt;
  const Answer answer = AskKernel(ends->other, ends->local);
  // Otherwise a user could send what it likes, and be nobody, by hanging up at once.
  const bool hung_up = answer.asked && !answer.user && KernelNamesUsers();
  if (!IsOpen(connection) || hung_up) return std::nullopt;
  const std::optional<uid_t> user = Mapped(answer.user);
  caller.user = user;
  if (user && noted_) noted_(*user);
  const auto now = Clock::now();
  const std::lock_guard lock(mutex_);
  const auto [entry, first] =
      entries_.try_emplace({ends->other.host.to_string(), ends->other.port});
  if (!first && entry->second.user != user) entry->second.contested_since = now;
  entry->second.user = user;
  return caller;
}

void Callers::TrustUnixSockets() {
  const std::lock_guard lock(mutex_);
  user_of_unix_sockets_ = geteuid();
}

std::optional<uid_t> Callers::UserOf(std::string_view peer) const {
  const auto endpoint = EndpointOf(peer);
  const std::lock_guard lock(mutex_);
  // A client's own socket may have a name: a path, or an abstract one.
  if (peer.starts_with("unix:") || peer.starts_with("unix-abstract:")) return user_of_unix_sockets_;
  if (!endpoint) return std::nullopt;
  const auto found = entries_.find({endpoint->host.to_string(), endpoint->port});
  if (found == entries_.end() || IsContested(found->second)) return std::nullopt;
  return found->second.user;
}

bool Callers::IsContested(const Entry& entry) const {
  if (!entry.contested_since) return false;
  const auto until = *entry.contested_since + kContested;
  const auto now = Clock::now();
  // A call that is late now was sent after calls began to be late, or shortly before.
  return now < until || (now < late_at_ + kContested && late_since_ < until);
}

void Callers::NoteLate() {
  const auto now = Clock::now();
  const std::lock_guard lock(mutex_);
  if (now >= late_at_ + kContested) late_since_ = now;
  late_at_ = now;
}

Caller CallerOfConnection(int connection) {
  int family = 0;
  socklen_t size = sizeof family;
  if (getsockopt(connection, SOL_SOCKET, SO_DOMAIN, &family, &size) != 0) return {};
  if (family == AF_UNIX) {
    ucred peer{};
    size = sizeof peer;
    const bool said = getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
    return {.peer = "unix:", .user = said ? Mapped(peer.uid) : std::nullopt};
  }
  const auto ends = EndsOf(connection);
  if (!ends) return {};
  Caller caller{.peer = PeerOf(ends->other)};
  if (ends->other.host.is_loopback()) caller.user = UserOfLoopback(connection, *ends);
  return caller;
}

std::string NetworkOf(std::string_view peer) {
  const auto endpoint = EndpointOf(peer);
  if (!endpoint) return std::string(peer.substr(0, peer.rfind(':')));
  if (endpoint->host.is_v4()) return endpoint->host.to_string();
  auto bytes = endpoint->host.to_v6().to_bytes();
  std::fill(bytes.begin() + bytes.size() / 2, bytes.end(), 0);
  return boost::asio::ip::address_v6(bytes).to_string() + "/64";
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
