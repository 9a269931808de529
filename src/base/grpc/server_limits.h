// The limits of our gRPC servers, against hostile callers.
//
// Any thread. tests/tidy checks that code that builds a server calls SetServerLimits or
// baton::LimitServer.
#pragma once

#include <cstddef>

#include <grpcpp/server_builder.h>

namespace baton {

/// Bytes of memory for all connections of a server: requests that are still arriving, and gRPC's
/// own state of connections and calls. Above this, gRPC first reads less ahead, and then ends
/// calls. kRelayMemory is enough for 10,000 callers that follow routes, each by its own connection.
/// kAdminMemory is for operators alone (--admin-socket).
inline constexpr std::size_t kNodeMemory = 64 << 20;
inline constexpr std::size_t kRelayMemory = 256 << 20;
inline constexpr std::size_t kAdminMemory = 16 << 20;

/// The most calls at once on a connection. A client makes further calls wait. RFC 9113 recommends
/// at least 100. gRPC 1.51 enforces this limit only once the client has acknowledged it. From then
/// on, a call above the limit ends the connection.
inline constexpr int kMaxStreams = 100;
/// The same for a node's own port. gRPC's threads take all calls in turn, so many calls at once
/// make everybody wait, even operators. No client of ours needs more calls at once.
inline constexpr int kMaxStreamsOfNode = 16;
/// The most threads of batond's servers for synchronous services (ServerLimits::threads). The only
/// such service is gRPC's reflection.
inline constexpr int kMaxThreadsOfReflection = 16;
/// The most bytes of a call's metadata. This is gRPC's default, set here so that it can't change.
/// gRPC enforces it only for clients that have acknowledged it, like kMaxStreams.
inline constexpr int kMaxMetadata = 8 << 10;

/// The most bytes that gRPC reads from a connection at once. It handles all of them, even if the
/// connection has ended meanwhile. gRPC 1.51 keeps to this only if GRPC_EXPERIMENTS has
/// "-tcp_read_chunks" when gRPC starts, as in batond's nodes (app/daemon/grpc_polling.h). Otherwise
/// gRPC reads up to 4 MiB at once.
inline constexpr int kMaxReadAtOnce = 8 << 10;

struct ServerLimits {
  int message = 64 << 10;  ///< the most bytes of a request; the longest ones set placement rules
  int streams = kMaxStreams;
  std::size_t memory = kNodeMemory;  ///< bytes, see kNodeMemory
  /// The most threads for calls of synchronous services; 0: no limit. Such a call has a thread as
  /// long as it waits for its caller. Above the limit, calls get RESOURCE_EXHAUSTED.
  int threads = 0;
};

/// Sets the limits. Also makes the server refuse compressed messages with UNIMPLEMENTED, without
/// decompressing them; see LimitChannel. REQUIRES: called before BuildAndStart.
void SetServerLimits(grpc::ServerBuilder& builder, const ServerLimits& limits = {});

}  // namespace baton
