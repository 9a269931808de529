// Callers: which user of this host opened each connection of a server.
//
// The kernel knows which user opened a socket of this host. Note asks the kernel
// (NETLINK_SOCK_DIAG) about the other end of each new loopback connection. Callers keeps the answer
// under the other end's address and port, even after the connection has ended. The next connection
// from this address and port replaces the answer. An IPv4-mapped IPv6 address counts as the IPv4
// address.
//
// Thread-safe. For a loopback connection, Note and CallerOfConnection ask the kernel once or twice.
// They wait at most a second for each answer, which normally comes at once.
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
  /// that the caller has the certificate's key. Empty: no valid certificate, or no name in it.
  std::string certificate = {};
  /// Why the caller's certificate is not valid. Empty: the certificate is valid, or there is none.
  std::string bad_certificate = {};
  std::string token = {};  ///< the name of the valid token that the caller sent; empty: none
  /// Why the token that the caller sent is not valid. Empty: the token is valid, or there is none.
  std::string bad_token = {};
};
/// Sets the caller's `certificate` to the certificate's name, and empties `bad_certificate`. If the
/// certificate has expired by `now`, sets `bad_certificate` and empties `certificate`.
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
  /// this long. After that, it returns the second user. Reason: a call of the first user may still
  /// be on its way to its handler. NoteLate makes this time longer.
  static constexpr std::chrono::seconds kContested{2};

  /// Note calls `noted` with the user of each connection, if the user is known. REQUIRES (not
  /// checked): `noted` doesn't wait.
  explicit Callers(std::function<void(uid_t)> noted = {});

  /// Notes who opened a connection that the server has just accepted. Returns the caller, with its
  /// peer. The caller's user is set if the kernel named one. `listens_on`: the host on which the
  /// server listens. nullopt: the server must close the connection, for one of these reasons:
  ///  - The connection is over already, or is not TCP.
  ///  - It is a loopback connection, and the kernel named no user, although it has named users of
  ///    other connections. Normally the caller has hung up. Or this host redirects the connection,
  ///    for example with iptables REDIRECT. Then the caller should connect to the port itself.
  ///  - It is a loopback connection, and the caller connected to another address than `listens_on`.
  ///    If `listens_on` is a name or stands for all addresses, the caller must connect to 127.0.0.1
  ///    or ::1.
  ///  - It is a loopback connection from another address than 127.0.0.1 and ::1.
  std::optional<Caller> Note(int connection, const std::string& listens_on);

  /// From now on, callers on unix sockets count as the user of this process. REQUIRES (not
  /// checked): only this user and root can connect to the server's unix sockets.
  void TrustUnixSockets();

  /// Returns the user who opened this peer's connection. `peer`: the result of
  /// grpc::ServerContext::peer. nullopt, in these cases:
  ///  - The peer is on another host.
  ///  - Note has not seen the connection, or the kernel did not name a user.
  ///  - Two users had the port lately (kContested, NoteLate).
  ///  - The peer is a unix socket, and TrustUnixSockets was not called.
  std::optional<uid_t> UserOf(std::string_view peer) const;

  /// Says that gRPC calls now wait a second or longer for their handlers. While this lasts, call
  /// NoteLate again, each time within kContested. Some ports get a second user in this time, or got
  /// a second user less than kContested before the first NoteLate. For these ports, UserOf returns
  /// nullopt until kContested after the last NoteLate.
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

/// Returns the peer and the user at the other end of a connection over TCP or a unix socket. Asks
/// the kernel; for a loopback connection this takes about 0.1 ms. The peer of a unix socket is
/// "unix:". The user of a caller on another host is not set. If the connection is over already, the
/// peer is empty or the user is not set. Certificate and token are empty.
Caller CallerOfConnection(int connection);

/// Returns the IPv4 address in a peer's name, or the first 64 bits of the IPv6 address, such as
/// "2001:db8::/64". If the name has no IP address, returns the part before its last colon, or the
/// whole name if it has no colon.
std::string NetworkOf(std::string_view peer);

/// Whether `peer` is known to be on this host: it has a loopback address (IPv4 or IPv6), or is a
/// unix socket. False if it has one of this host's other addresses.
bool IsLocalPeer(std::string_view peer);

}  // namespace baton::access
