// SetServerLimits: the limits of our gRPC servers, against hostile callers.
//
// Any thread. tests/tidy checks that code that builds a server calls SetServerLimits or
// baton::LimitServer.
#pragma once

#include <cstddef>

#include <grpcpp/server_builder.h>

namespace baton {

/// Bytes of memory for all connections of a server: requests that are still arriving, and gRPC's
/// own state of connections and calls. If a server needs more, gRPC first reads less ahead, and
/// then ends calls. kRelayMemory is enough for 10,000 callers that follow routes, if each has its
/// own connection. kAdminMemory is for a server that only operators can call (--admin-socket).
inline constexpr std::size_t kNodeMemory = 64 << 20;
inline constexpr std::size_t kRelayMemory = 256 << 20;
inline constexpr std::size_t kAdminMemory = 16 << 20;

/// The most calls at once on a connection; RFC 9113 recommends at least 100. If a client has more
/// calls, it lets them wait. gRPC 1.51 enforces this limit only after the client has acknowledged
/// it. From then on, a call above the limit ends the connection.
inline constexpr int kMaxStreams = 100;
/// The most calls at once on a connection to a node's own port, enforced like kMaxStreams. gRPC's
/// threads take all calls in turn, so many calls at once make everybody wait, even operators. Our
/// own clients don't need more calls at once.
inline constexpr int kMaxStreamsOfNode = 16;
/// The most threads for synchronous services in batond's servers (ServerLimits::threads). The only
/// synchronous service is gRPC's reflection.
inline constexpr int kMaxThreadsOfReflection = 16;
/// The most bytes of a call's metadata (also the default of gRPC 1.51). gRPC enforces this limit
/// only after the client has acknowledged it.
inline constexpr int kMaxMetadata = 8 << 10;

/// The most bytes that gRPC reads from a connection at once. gRPC handles all of these bytes, even
/// if the connection has ended meanwhile. gRPC 1.51 obeys this limit only if GRPC_EXPERIMENTS has
/// "-tcp_read_chunks" when gRPC starts. batond's nodes set this (app/daemon/grpc_polling.h).
/// Otherwise gRPC reads up to 4 MiB at once.
inline constexpr int kMaxReadAtOnce = 8 << 10;

struct ServerLimits {
  int message = 64 << 10;  ///< the most bytes of a request (the longest set placement rules)
  int streams = kMaxStreams;
  std::size_t memory = kNodeMemory;  ///< bytes, see kNodeMemory
  /// The most threads for calls of synchronous services; 0: no limit. Such a call needs a thread,
  /// also while it waits for its caller. Above the limit, calls get RESOURCE_EXHAUSTED.
  int threads = 0;
};

/// Sets the limits. Also makes the server refuse compressed messages with UNIMPLEMENTED, without
/// decompressing them (for the reason, see LimitChannel). REQUIRES (not checked): called before
/// BuildAndStart.
void SetServerLimits(grpc::ServerBuilder& builder, const ServerLimits& limits = {});

}  // namespace baton
