// HttpServer: probes, metrics and JSON over plain HTTP/1.1, GET and HEAD only; it changes nothing.
//
// Threads of its own: one for all sockets, kWorkers that wait for the node and render. Slow or
// hostile clients cost a bounded amount: connections, headers, bodies, waiting requests and time
// all have limits, and a new connection at the limit replaces the one that has been idle longest,
// so that probes get through.
//
// Not encrypted and not authenticated: bind it to loopback or a trusted network.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "baton/result.h"
#include "http/handler.h"
#include "routing/route_server.h"
#include "runtime/control.h"

namespace baton::http {

inline constexpr std::size_t kMaxConnections = 256;
inline constexpr std::size_t kMaxHeader = 8 * 1024;  ///< bytes; more: 431
inline constexpr std::size_t kMaxBody = 4 * 1024;    ///< bytes, ignored; more: 413
inline constexpr std::size_t kMaxWaiting = 64;       ///< requests waiting for a worker; more: 503
inline constexpr std::size_t kMaxPolls = 128;  ///< of /v1/routes, waiting for a change; more: 503
inline constexpr std::size_t kMaxFeeds = 32;   ///< that follow /v1/events; more: 503
inline constexpr int kWorkers = 2;

struct HttpOptions {
  std::string group = {};                  ///< label of the server's own metrics
  std::string address = "127.0.0.1:7401";  ///< host:port; port 0 picks one
  /// A whole request must arrive within this, counted from the last answer.
  std::chrono::milliseconds idle_timeout{10'000};
  /// A whole answer must be read within this, and what was sent acknowledged by the client's host.
  std::chrono::milliseconds write_timeout{30'000};
};

/// How often each of the server's bounds was reached.
struct HttpBounds {
  std::uint64_t connections = 0;    ///< connections closed, or not taken, to keep kMaxConnections
  std::uint64_t waiting = 0;        ///< requests refused beyond kMaxWaiting
  std::uint64_t polls = 0;          ///< polls of /v1/routes refused beyond kMaxPolls
  std::uint64_t feeds = 0;          ///< feeds of /v1/events refused beyond kMaxFeeds
  std::uint64_t slow_requests = 0;  ///< not whole within idle_timeout
  /// Answers and feeds that were not read within write_timeout, slowly or because the host is gone.
  std::uint64_t slow_readers = 0;
};

/// Not thread-safe but for port(), address() and bounds(); the destructor stops and waits (up to a
/// second for requests that wait for the node).
class HttpServer {
 public:
  /// Listens, without answering yet: connections wait for Serve. kInvalidArgument: the address is
  /// no host:port. kUnavailable: it can't be listened on, and why.
  static Result<std::unique_ptr<HttpServer>> Bind(HttpOptions options);
  /// Begins to answer. REQUIRES: called once. `control` must outlive this object. Without `routes`
  /// there is no /v1/routes.
  void Serve(runtime::Control& control, MetricsSources metrics,
             std::shared_ptr<routing::RouteServer> routes = nullptr);

  /// Both at once.
  static Result<std::unique_ptr<HttpServer>> Start(HttpOptions options, runtime::Control& control,
                                                   MetricsSources metrics);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const;
  /// host:port with the host as given and the real port.
  std::string address() const;
  /// Since the start; also on /metrics.
  HttpBounds bounds() const;

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace baton::http
