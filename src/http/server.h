// HttpServer: probes, metrics and JSON over HTTP/1.1, with TLS or without. Only GET and HEAD; it
// changes nothing.
//
// It has one thread for all sockets, and kWorkers threads that wait for the node and write answers.
// Connections, headers, bodies, waiting requests and times have limits, so slow or hostile clients
// cost a bounded amount. At the limit, a new connection replaces the one that has been idle for
// longest, so probes get through; if none is idle, the new one is closed.
//
// Without TLS nothing is encrypted, and callers from other hosts have no identity: bind it to
// loopback or to a trusted network then.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "access/access.h"
#include "base/server_identity.h"
#include "baton/result.h"
#include "http/handler.h"
#include "routing/server/route_server.h"
#include "runtime/control.h"

namespace baton::http {

inline constexpr std::size_t kMaxConnections = 256;
inline constexpr std::size_t kMaxHeader = 8 * 1024;  ///< bytes; 431 above it
inline constexpr std::size_t kMaxBody = 4 * 1024;    ///< bytes, which are ignored; 413 above it
inline constexpr std::size_t kMaxWaiting = 64;  ///< requests that wait for a worker; 503 above it
inline constexpr std::size_t kMaxPolls = 128;   ///< requests for /v1/routes that wait; 503 above it
inline constexpr std::size_t kMaxFeeds = 32;    ///< feeds of /v1/events; 503 above it
inline constexpr std::size_t kMaxUnread = 64 << 20;  ///< bytes of answers being sent; 503 above it
inline constexpr std::size_t kMaxLists = 8;  ///< answers with all routes at once; 503 above it
inline constexpr int kWorkers = 2;

struct HttpOptions {
  std::string group = {};                  ///< label of the server's own metrics
  std::string address = "127.0.0.1:7401";  ///< host:port; port 0 picks one
  /// Host names of this server, besides localhost; "*": every name. Requests for others are
  /// refused, see foreign.h.
  std::vector<std::string> names = {};
  /// Null: no TLS.
  std::shared_ptr<const ServerIdentity> tls = nullptr;
  /// A connection that is older ends after its next answer, and a feed within 15 s; 0: no bound.
  std::chrono::milliseconds max_age{0};
  /// A whole request must arrive within this time after the last answer. A TLS handshake must end
  /// within it, too.
  std::chrono::milliseconds idle_timeout{10'000};
  /// The client must read a whole answer within this time, and its host must acknowledge it.
  std::chrono::milliseconds write_timeout{30'000};
  std::size_t most_unread = kMaxUnread;
  /// Who may read what (access::DemandOfPath), and how often; null: everybody may read everything.
  std::shared_ptr<const access::Access> access = nullptr;
};

/// How often each of the server's limits was reached.
struct HttpBounds {
  std::uint64_t connections = 0;  ///< closed or refused to keep kMaxConnections
  std::uint64_t waiting = 0;      ///< requests refused beyond kMaxWaiting
  std::uint64_t polls = 0;        ///< requests for /v1/routes refused beyond kMaxPolls
  std::uint64_t feeds = 0;        ///< feeds refused beyond kMaxFeeds
  std::uint64_t peers = 0;        ///< feeds and polls refused beyond their address's share (peer.h)
  std::uint64_t bytes = 0;        ///< answers refused beyond kMaxUnread or kMaxLists
  std::uint64_t foreign = 0;      ///< requests refused because they are for another's page
  /// Requests of callers without the role that the path needs, or whose token does not count. Those
  /// who ask too often are not among them (access::Access::limited).
  std::uint64_t denied = 0;
  std::uint64_t slow_requests = 0;  ///< requests that were not complete within idle_timeout
  /// Answers and feeds that were not read within write_timeout, because the client is slow or gone.
  std::uint64_t slow_readers = 0;
};

/// Not thread-safe, except for port(), address() and bounds(). The destructor stops the server and
/// closes all connections; it waits for up to a second for requests that wait for the node.
class HttpServer {
 public:
  /// Listens, on the first address that the host has. Connections wait until Serve.
  /// kInvalidArgument: the address is not host:port. kUnavailable: it can't be listened on; the
  /// message says why.
  static Result<std::unique_ptr<HttpServer>> Bind(HttpOptions options);
  /// Begins to answer. REQUIRES: called once; `control` outlives this object. Without `routes`
  /// there is no /v1/routes.
  void Serve(runtime::Control& control, MetricsSources metrics,
             std::shared_ptr<routing::RouteServer> routes = nullptr);

  /// Bind and Serve in one call, without routes.
  static Result<std::unique_ptr<HttpServer>> Start(HttpOptions options, runtime::Control& control,
                                                   MetricsSources metrics);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const;
  /// host:port with the given host and the actual port.
  std::string address() const;
  /// Since the start. /metrics has them too.
  HttpBounds bounds() const;

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace baton::http
