// Callers: which user of this host opened each connection of a server.
//
// The name that a caller gives itself proves nothing. But the kernel knows which user opened a
// socket of this host. So Note asks the kernel (NETLINK_SOCK_DIAG) about the other end of each new
// loopback connection. The answer is kept under the other end's address and port, because gRPC
// tells nothing else about a caller. It is kept until the next connection from this address and
// port, also after the first connection has ended. An IPv4-mapped IPv6 address counts as the IPv4
// address.
//
// Thread-safe. Note and CallerOfConnection ask the kernel once or twice for a loopback connection.
// The kernel answers at once. The two wait at most a second for each answer.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/client_certificate.h"

namespace baton::access {

/// The most bytes of a peer's name in messages.
inline constexpr std::size_t kLongestPeerName = 128;

struct Caller {
  std::string peer = {};           ///< the result of grpc::ServerContext::peer
  std::optional<uid_t> user = {};  ///< a user of this host; unset: not known, or on another host
  /// The name in the caller's certificate (NameInCertificate), any bytes. The handshake has proven
  /// that the caller has the certificate's key. Empty: no certificate, or no name in it.
  std::string certificate = {};
  /// Why the certificate that the caller showed is not valid. Empty: it showed none, or a valid
  /// one.
  std::string bad_certificate = {};
  std::string token = {};  ///< the name of the valid token that the caller sent; empty: none
  /// Why the token that the caller sent is not valid. Empty: it sent none, or a valid one.
  std::string bad_token = {};
};
/// Sets the caller's `certificate`, or its `bad_certificate` if the certificate has expired by
/// `now`; empties the other.
void Certify(Caller& caller, const ClientCertificate& certificate,
             std::chrono::system_clock::time_point now);
/// Whether a valid token, a certificate or the kernel identifies the caller.
bool IsProven(const Caller& caller);
/// Returns the caller's name for messages, as one line. It is the first of these that is known: the
/// token ("token ci"), the certificate's name, the user ("uid 1000"), the peer.
std::string NameOf(const Caller& caller);

class Callers {
 public:
  /// If a second user opens a connection from the same address and port, UserOf returns nullopt for
  /// this long, and after that the second user. Reason: a call of the first user may still be on
  /// its way to its handler. While handlers are called late, UserOf returns nullopt for longer: see
  /// NoteLate.
  static constexpr std::chrono::seconds kContested{2};

  /// Note calls `noted` with the user of each connection, if the user is known, before the
  /// connection's first call. REQUIRES: `noted` doesn't wait.
  explicit Callers(std::function<void(uid_t)> noted = {});

  /// Notes who opened a connection that was just accepted. Returns this caller, with its peer, and
  /// with its user if the kernel named one. `listens_on`: the host on which the server listens.
  /// nullopt: the server must close the connection, for one of these reasons:
  ///  - The connection is over already, or is not TCP.
  ///  - It is a loopback connection whose user the kernel does not name, although it has named
  ///    users of other connections. Then the caller has hung up. (Or the connection was redirected
  ///    on this host, for example by iptables with REDIRECT. Such callers should connect to the
  ///    port itself.)
  ///  - It is a loopback connection, and the caller connected to another address than `listens_on`.
  ///    If `listens_on` is a name or stands for all addresses, the caller must connect to 127.0.0.1
  ///    or ::1. Reason: a caller may connect to two of the server's addresses from one port. Then
  ///    the caller's address and port would not identify the connection.
  ///  - It is a loopback connection from another address than 127.0.0.1 and ::1. This host has too
  ///    many loopback addresses to remember.
  std::optional<Caller> Note(int connection, const std::string& listens_on);

  /// From now on, callers on unix sockets count as the user of this process. REQUIRES: only this
  /// user and root can connect to the unix sockets of this server.
  void TrustUnixSockets();

  /// Returns the user who opened this peer's connection. `peer`: the result of
  /// grpc::ServerContext::peer. nullopt, in these cases:
  ///  - The peer is on another host.
  ///  - Note has not seen the connection, or the kernel did not name a user.
  ///  - Two users had the port lately (kContested, NoteLate).
  ///  - The peer is a unix socket, and TrustUnixSockets was not called.
  std::optional<uid_t> UserOf(std::string_view peer) const;

  /// Says that gRPC calls wait for their handlers for a second or longer now. As long as this is
  /// so, call NoteLate again and again, each time within kContested. Some ports get a second user
  /// meanwhile, or got a second user less than kContested before the first NoteLate. For these
  /// ports, UserOf returns nullopt until kContested after the last NoteLate.
  void NoteLate();

 private:
  using Key = std::pair<std::string, std::uint16_t>;  ///< address and port of the other end
  using Clock = std::chrono::steady_clock;
  struct Entry {
    std::optional<uid_t> user;
    std::optional<Clock::time_point> contested_since;  ///< unset: it never changed hands
  };
  bool IsContested(const Entry& entry) const;

  const std::function<void(uid_t)> noted_;
  mutable std::mutex mutex_;
  /// guarded by mutex_; at most one entry for each port of 127.0.0.1 and of ::1
  std::map<Key, Entry> entries_;
  std::optional<uid_t> user_of_unix_sockets_;  ///< guarded by mutex_
  Clock::time_point late_since_{};             ///< guarded by mutex_; of the first NoteLate
  Clock::time_point late_at_{};                ///< guarded by mutex_; of the last one in a row
};

/// Returns the peer and the user at the other end of a connection, over TCP or a unix socket. Asks
/// the kernel, which takes about 0.1 ms for a loopback connection. The peer of a unix socket is
/// "unix:". If the connection is over already, the peer is empty or the user is not set.
/// Certificate and token are empty.
Caller CallerOfConnection(int connection);

/// Returns the IPv4 address in a peer's name, or the first 64 bits of the IPv6 address, such as
/// "2001:db8::/64". If the name has no such address, returns the part before its last colon.
std::string NetworkOf(std::string_view peer);

/// Whether `peer` is known to be on this host: it has a loopback address (IPv4 or IPv6), or is a
/// unix socket. False if it has one of this host's other addresses.
bool IsLocalPeer(std::string_view peer);

}  // namespace baton::access
