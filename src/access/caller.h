// Caller: who is at the other end of a connection, as the kernel says.
//
// What callers say of themselves proves nothing. But the kernel knows which user opened a socket of
// this host, so it is asked (NETLINK_SOCK_DIAG) for the other end of the connection.
//
// Thread-safe. A question costs some 10 µs and waits for nobody.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace baton::access {

struct Caller {
  std::string peer;           ///< as grpc::ServerContext::peer names it
  bool local = false;         ///< over loopback, or a unix socket
  std::optional<uid_t> user;  ///< who opened the connection; unset: another host, or not known
};

/// The address on which a server listens. A host that is a name or a wildcard tells nothing.
struct ServedAt {
  std::string host;
  std::uint16_t port = 0;  ///< 0: not known, so no caller over TCP is
};

/// Identifies the caller of a server. The user of a caller over TCP is known only while its end of
/// the connection is open, so ask while the call is served. A caller over a unix socket counts as
/// our own user: the mode of the socket's file decided who could open it. Abstract unix sockets
/// have no mode, so their callers are not known.
Caller IdentifyCaller(std::string peer, const ServedAt& served);

/// "alice (uid 1000)", "uid 1000" if that user has no name, or else the peer. One line. May read
/// the host's user database.
std::string NameOf(const Caller& caller);

/// Whether `peer` is on this host: IPv4 or IPv6 loopback, or a unix socket.
bool IsLocalPeer(std::string_view peer);

}  // namespace baton::access
