// Encodes routes as serialized WatchRoutesResponse messages (proto/baton/v1/routing.proto).
//
// A message is a list of parts, which all streams can share. The bytes of all parts, one after
// another, are one serialized message, because protobuf merges concatenated messages.
//
// Pure functions; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "baton/v1/routing.pb.h"
#include "runtime/control.h"

namespace baton::routing {

/// One part. It never changes, and all streams that send it share it.
using Bytes = std::shared_ptr<const std::string>;

struct RouteMessage {
  std::vector<Bytes> parts;
};

/// The part that only a stream's first message has: group, mapping, incarnation, server and `anew`.
Bytes EncodeOpening(const runtime::RouteGroup& group, bool anew);

/// Encodes routes, and the nodes that lead their shards or stand by for them. A route names a node
/// by its index in the message. So a message may have at most one part of this kind. REQUIRES (not
/// checked): no pointer is null.
Bytes EncodeRoutes(const std::vector<const runtime::ViewRoute*>& routes);

/// The fields of a message that describe the view behind its routes.
struct ViewWords {
  bool snapshot_end = false;  ///< the snapshot ends with this message
  Revision complete_to{};     ///< the stream has all changes up to it; 0: inside a snapshot
  Duration age{0};            ///< the time since the view was last proven current
  bool stale = false;         ///< the proof that the view is current is too old
  std::string_view check{};   ///< DigestOf all routes of the server; empty: no check
};
Bytes EncodeWords(const ViewWords& words);

/// Returns the digest of the routes (routing/route_digest.h). REQUIRES (not checked): `routes` has
/// each shard once, in the order of shards; no pointer is null.
std::string DigestOf(const std::vector<const runtime::ViewRoute*>& routes);

v1::KeyMapping MappingOf(const runtime::RouteGroup& group);
/// Leaves the indexes of the leader and of the standbys unset, because the indexes depend on the
/// message.
v1::Route ToProto(const runtime::ViewRoute& route);
google::protobuf::Duration ToProto(Duration duration);

}  // namespace baton::routing
