// The limits that every gRPC server of ours has, against callers that mean harm.
//
// Any thread. tests/tidy checks that a program that builds a server calls SetServerLimits or
// baton::LimitServer.
#pragma once

#include <cstddef>

#include <grpcpp/server_builder.h>

namespace baton {

/// Memory of all connections of a server: the parts of requests that are still arriving, and
/// what gRPC keeps for a connection and a call. Beyond it gRPC reads less ahead, and then ends
/// calls. 10,000 callers that follow routes, each by its own connection, fit into the relay's.
inline constexpr std::size_t kNodeMemory = 64 << 20;
inline constexpr std::size_t kRelayMemory = 256 << 20;

/// Calls at once on a connection; a client lets more of them wait. RFC 9113 recommends 100 at
/// least. gRPC 1.51 ends a connection with more, but only if its client has acknowledged the limit.
inline constexpr int kMaxStreams = 100;
/// Bytes of a call's metadata: gRPC's own default, named so that it stays. It holds on the same
/// condition as kMaxStreams.
inline constexpr int kMaxMetadata = 8 << 10;

struct ServerLimits {
  int message = 64 << 10;  ///< bytes of a request. The longest of ours is a key of 4 KiB.
  int streams = kMaxStreams;
  std::size_t memory = kNodeMemory;  ///< bytes
};

/// Sets the limits, and refuses compressed messages with UNIMPLEMENTED before they are opened:
/// gRPC 1.51 decompresses a message before it looks at its size, so 200 kB could become 200 MiB.
/// Call it before the server is built.
void SetServerLimits(grpc::ServerBuilder& builder, const ServerLimits& limits = {});

}  // namespace baton
