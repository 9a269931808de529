// HttpServer: probes, metrics, JSON and the node's page over HTTP/1.1, with TLS or without. It
// answers only GET and HEAD; other methods get 405. No request changes anything.
//
// It has one thread for all sockets, and kWorkers threads that wait for the node and make answers.
// Connections, headers, bodies, waiting requests and times have limits, so slow or hostile clients
// cost a bounded amount.
//
// If there are kMaxConnections, a new connection replaces another one, so that probes get through.
// The server closes the first of these that exists:
//  - the connection that has been idle for longest;
//  - the connection whose client has read nothing of its answer for longest, if this is 1 s or
//    longer;
//  - the new connection.
// If the client has kMaxConnectionsOfClient, the server chooses among this client's connections
// only. If only reserved descriptors are left (base/descriptors.h), the server closes the new
// connection, and another one by the same rules.
//
// Without TLS nothing is encrypted, and only a token identifies a caller on another host. So bind a
// server without TLS to loopback or to a trusted network.
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
/// The most connections of one client. A client is one user of this host, or one address of another
/// host (for IPv6: one network of 64 bits). The limit is greater than kMaxPolls + kMaxFeeds. So a
/// client that holds all polls and feeds can still connect.
inline constexpr std::size_t kMaxConnectionsOfClient = 192;
// A request above one of these two limits gets the status that stands beside the limit.
inline constexpr std::size_t kMaxHeader = 8 * 1024;  ///< bytes of the request's header; 431
inline constexpr std::size_t kMaxBody = 4 * 1024;    ///< bytes of its body, which is ignored; 413
// A request above one of these limits gets 503.
inline constexpr std::size_t kMaxWaiting = 64;  ///< requests that a worker answers, or will answer
inline constexpr std::size_t kMaxPolls = 128;   ///< requests for /v1/routes
inline constexpr std::size_t kMaxFeeds = 32;    ///< feeds of /v1/events
inline constexpr std::size_t kMaxUnread = 64 << 20;  ///< bytes of answers, see BodyBudget
/// How many long answers of /v1/routes are made at once. A long answer has more than kShortList
/// routes. If there are kMaxLists already, a request with a wait (route_polls.h) waits for its
/// turn. A request without a wait gets 503.
inline constexpr std::size_t kMaxLists = 8;
inline constexpr std::size_t kShortList = 1'000;
inline constexpr int kWorkers = 2;  ///< threads that make answers

struct HttpOptions {
  std::string group = {};                  ///< label of the server's own metrics
  std::string address = "127.0.0.1:7401";  ///< host:port; port 0: the system picks one
  /// Host names of this server, besides localhost; see RefuseForeign.
  std::vector<std::string> names = {};
  /// Null: no TLS.
  std::shared_ptr<const ServerIdentity> tls = nullptr;
  /// The longest life of a connection; 0: no bound. An older connection closes after its next
  /// answer. A feed on an older connection ends within 15 s, or later, after the part that is being
  /// sent.
  std::chrono::milliseconds max_age{0};
  /// A TLS handshake must end within this time, and a request must arrive whole within this time.
  /// The time for a first request begins when the connection is accepted; with TLS, after the
  /// handshake. The time for a later request begins after the last answer. The server closes a
  /// connection that takes longer.
  std::chrono::milliseconds idle_timeout{10'000};
  /// The client must read a whole answer, or one part of a feed, within this time. The client's
  /// host must acknowledge data within this time, too. Otherwise the server closes the connection.
  std::chrono::milliseconds write_timeout{30'000};
  std::size_t most_unread = kMaxUnread;  ///< bytes, see BodyBudget
  /// Decides who may read what (access::DemandOfPath), and how often. Null: everybody may read
  /// everything, without limits. If a client makes too many TLS handshakes, its new connection is
  /// closed. A request is refused in these cases:
  ///  - 401: its token is not valid. (Probes ignore tokens.)
  ///  - 403: the caller lacks the role, is not known yet, or has a certificate that has expired.
  ///  - 429: the caller makes too many requests.
  std::shared_ptr<const access::Access> access = nullptr;
};

/// How often each of the server's limits was reached.
struct HttpBounds {
  /// New connections when there were kMaxConnections, or when only reserved descriptors were left.
  std::uint64_t connections = 0;
  std::uint64_t clients = 0;  ///< new connections of a client that had kMaxConnectionsOfClient
  std::uint64_t waiting = 0;  ///< requests refused because of kMaxWaiting
  std::uint64_t polls = 0;    ///< requests for /v1/routes refused because of kMaxPolls
  std::uint64_t feeds = 0;    ///< feeds refused because of kMaxFeeds
  std::uint64_t peers = 0;    ///< feeds and polls refused because of a limit in peer.h
  std::uint64_t bytes = 0;    ///< answers refused because of most_unread or kMaxLists
  std::uint64_t foreign = 0;  ///< requests refused by RefuseForeign
  /// Requests that `access` refused with 401 or 403. access::Access::limited counts those that got
  /// 429.
  std::uint64_t denied = 0;
  std::uint64_t slow_requests = 0;  ///< requests that began but were not whole by idle_timeout
  /// Answers and feeds that were not read within write_timeout, because the client is slow or gone.
  std::uint64_t slow_readers = 0;
};

/// Not thread-safe, except for port(), address() and bounds(). The destructor closes all
/// connections. It also waits for requests that wait for the node, which takes up to a second.
class HttpServer {
 public:
  /// Listens on the first address to which the host of HttpOptions::address resolves. Waits for the
  /// resolver. New connections are queued until Serve. kInvalidArgument: the address is not
  /// host:port. kUnavailable: the host can't be resolved, or the server can't listen there; the
  /// message says why. Throws boost::system::system_error if the system gives no thread or no
  /// descriptor.
  static Result<std::unique_ptr<HttpServer>> Bind(HttpOptions options);
  /// Begins to answer. If `routes` is null, /v1/routes gets 404. Throws std::system_error if the
  /// system gives no thread. REQUIRES (checked): called once, and not again after an exception.
  /// REQUIRES (not checked): `control` outlives this object.
  void Serve(runtime::Control& control, MetricsSources metrics,
             std::shared_ptr<routing::RouteServer> routes = nullptr);

  /// Bind and Serve in one call, without routes. Throws as they do.
  static Result<std::unique_ptr<HttpServer>> Start(HttpOptions options, runtime::Control& control,
                                                   MetricsSources metrics);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const;
  /// host:port with the host of HttpOptions::address and the real port.
  std::string address() const;
  /// The counts since Bind. /metrics shows the same counts.
  HttpBounds bounds() const;

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace baton::http
