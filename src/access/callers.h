// Callers: which user of this host opened each connection of a server.
//
// What callers say of themselves proves nothing. But the kernel knows who opened a socket of this
// host, so it is asked (NETLINK_SOCK_DIAG) about the other end of each new loopback connection. The
// answer is kept by the other end's address and port, which is all that gRPC tells of a caller.
//
// Thread-safe. Each new connection over loopback costs a question or two to the kernel, which
// answers at once; Note and CallerOfConnection wait for each a second at most.
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

namespace baton::access {

/// The most bytes of a peer's name in messages.
inline constexpr std::size_t kLongestPeerName = 128;

struct Caller {
  std::string peer = {};           ///< as grpc::ServerContext::peer names it
  std::optional<uid_t> user = {};  ///< of this host; unset: not known, or on another host
  /// The name in the certificate that the caller has the key of (NameInCertificate), any bytes;
  /// empty: none.
  std::string certificate = {};
  std::string token = {};  ///< the name of the token that it sent; empty: it sent none that counts
  /// Why the token that it sent does not count; empty: it sent none, or one that counts.
  std::string bad_token = {};
};
/// Whether a token, a certificate or the kernel says who calls.
bool IsProven(const Caller& caller);
/// "token ci", or the certificate's name, or "uid 1000", or else the peer. One line.
std::string NameOf(const Caller& caller);

class Callers {
 public:
  /// When an address and port went from one user to another, UserOf names nobody there for this
  /// long: a call of the first one may still be on its way to its handler.
  static constexpr std::chrono::seconds kContested{2};

  /// `noted` gets the user, if it is known, of each connection that Note takes note of, before its
  /// first call. It is called on Note's thread and must not wait.
  explicit Callers(std::function<void(uid_t)> noted = {});

  /// Takes note of a connection that was just accepted. False: close it. So it answers if the
  /// connection is over already or is not TCP, and to two kinds of loopback connections. (1) It
  /// goes to another address than the one on which the server listens (or than 127.0.0.1 and ::1,
  /// if it listens on all): another connection may have the same other end. (2) It comes from an
  /// address other than 127.0.0.1 and ::1: there are too many of these to remember.
  bool Note(int connection, const std::string& listens_on);

  /// From now on, who calls by a unix socket counts as the user of this process. REQUIRES: nobody
  /// but that user and root can open the unix sockets of this server.
  void TrustUnixSockets();

  /// The user who opened the connection of this peer, as grpc::ServerContext::peer names it.
  /// nullopt: another host, a connection that Note has not seen, the kernel did not say, another
  /// user had that port a moment ago (kContested), or a unix socket, unless these are trusted.
  std::optional<uid_t> UserOf(std::string_view peer) const;

 private:
  using Key = std::pair<std::string, std::uint16_t>;  ///< address and port of the other end
  using Clock = std::chrono::steady_clock;
  struct Entry {
    std::optional<uid_t> user;
    Clock::time_point contested_until;
  };

  const std::function<void(uid_t)> noted_;
  mutable std::mutex mutex_;
  /// guarded by mutex_; at most one entry for each port of 127.0.0.1 and of ::1
  std::map<Key, Entry> entries_;
  std::optional<uid_t> user_of_unix_sockets_;  ///< guarded by mutex_
};

/// Who is at the other end of this connection over TCP or a unix socket. Asks the kernel about a
/// loopback connection, which takes about 0.1 ms. A unix socket's peer is "unix:". An empty peer:
/// the connection is over already. Certificate and token are left empty.
Caller CallerOfConnection(int connection);

/// The address in a peer's name, without its port. IPv6: its first 64 bits, as "2001:db8::/64". A
/// name without such an address: what stands before its last colon.
std::string NetworkOf(std::string_view peer);

/// Whether `peer` is on this host: IPv4 or IPv6 loopback, or a unix socket.
bool IsLocalPeer(std::string_view peer);

}  // namespace baton::access
