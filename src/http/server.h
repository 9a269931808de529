// HttpServer: probes, metrics, JSON and the node's page over HTTP/1.1, with TLS or without. It
// answers GET and HEAD only (405 for others), and changes nothing.
//
// It has one thread for all sockets, and kWorkers threads that wait for the node and make answers.
// Connections, headers, bodies, waiting requests and times have limits, so slow or hostile clients
// cost a bounded amount. If there are kMaxConnections, a new connection replaces another one, so
// that probes get through. The server closes the connection that has been idle for longest. If no
// connection is idle, it closes the one whose client has read nothing of its answer for longest, if
// this is 1 s or longer. If there is no such connection either, the server closes the new one. If
// the client has kMaxConnectionsOfClient, the server chooses, by the same rules, among the
// connections of this client only (ConnectionPlaces). If the process has only reserved descriptors
// left (base/descriptors.h), the server closes the new connection, and another one by the same
// rules.
//
// Without TLS nothing is encrypted, and callers from other hosts are known only by a token.
// Therefore bind a server without TLS to loopback or to a trusted network.
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
/// host (of IPv6: one network of 64 bits). This number is greater than kMaxPolls + kMaxFeeds. So a
/// client that holds all polls and feeds can still connect.
inline constexpr std::size_t kMaxConnectionsOfClient = 192;
// If a request is above one of these two limits, its answer has the status that stands beside the
// limit.
inline constexpr std::size_t kMaxHeader = 8 * 1024;  ///< bytes of the request's header; 431
inline constexpr std::size_t kMaxBody = 4 * 1024;    ///< bytes of its body, which is ignored; 413
// A request above one of these gets 503.
inline constexpr std::size_t kMaxWaiting = 64;  ///< requests that wait for a worker or are with one
inline constexpr std::size_t kMaxPolls = 128;   ///< requests for /v1/routes
inline constexpr std::size_t kMaxFeeds = 32;    ///< feeds of /v1/events
inline constexpr std::size_t kMaxUnread = 64 << 20;  ///< bytes of answers, see BodyBudget
/// How many long answers of /v1/routes are made at once. A long answer has more than kShortList
/// routes. If there are kMaxLists already, a request without a wait gets 503; requests with a wait
/// (route_polls.h) wait for their turn.
inline constexpr std::size_t kMaxLists = 8;
inline constexpr std::size_t kShortList = 1'000;
inline constexpr int kWorkers = 2;  ///< threads that make answers

struct HttpOptions {
  std::string group = {};                  ///< label of the server's own metrics
  std::string address = "127.0.0.1:7401";  ///< host:port; port 0 picks one
  /// Host names of this server, besides localhost; see RefuseForeign.
  std::vector<std::string> names = {};
  /// Null: no TLS.
  std::shared_ptr<const ServerIdentity> tls = nullptr;
  /// The longest life of a connection; 0: no bound. An older connection closes after its next
  /// answer. If it has a feed, it closes within 15 s.
  std::chrono::milliseconds max_age{0};
  /// A TLS handshake must end within this time. A connection's first request must arrive whole
  /// within this time after the connection was accepted or, with TLS, after the handshake. Each
  /// later request must arrive whole within this time after the last answer. Otherwise the server
  /// closes the connection.
  std::chrono::milliseconds idle_timeout{10'000};
  /// The client must read a whole answer (or one part of a feed) within this time, and its host
  /// must acknowledge each part within this time. Otherwise the server closes the connection.
  std::chrono::milliseconds write_timeout{30'000};
  std::size_t most_unread = kMaxUnread;  ///< bytes, see BodyBudget
  /// Decides who may read what (access::DemandOfPath), and how often. A request gets 401 if its
  /// token is not valid. It gets 403 if the caller lacks the role, is not known yet, or has a
  /// certificate that has expired. It gets 429 if the caller makes too many requests. A connection
  /// is closed if its client makes too many TLS handshakes. Null: everybody may read everything,
  /// without limits.
  std::shared_ptr<const access::Access> access = nullptr;
};

/// How often each of the server's limits was reached.
struct HttpBounds {
  /// Connections that came at kMaxConnections, or when only reserved descriptors were left.
  std::uint64_t connections = 0;
  std::uint64_t clients = 0;  ///< connections that came at kMaxConnectionsOfClient
  std::uint64_t waiting = 0;  ///< requests refused because of kMaxWaiting
  std::uint64_t polls = 0;    ///< requests for /v1/routes refused because of kMaxPolls
  std::uint64_t feeds = 0;    ///< feeds refused because of kMaxFeeds
  std::uint64_t peers = 0;    ///< feeds and polls refused because of peer.h
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
/// connections. It waits for requests that wait for the node: these wait for up to a second.
class HttpServer {
 public:
  /// Listens on the first address that the host resolves to. New connections are queued until
  /// Serve. Waits for the resolver. kInvalidArgument: the address is not host:port. kUnavailable:
  /// the host can't be resolved, or the server can't listen there; the message says why. Throws
  /// boost::system::system_error if the host lacks threads, or if this process lacks descriptors.
  static Result<std::unique_ptr<HttpServer>> Bind(HttpOptions options);
  /// Begins to answer. If `routes` is null, /v1/routes gets 404. Throws std::system_error if the
  /// host lacks threads. REQUIRES: called once (checked), and not again after an exception;
  /// `control` outlives this object.
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
