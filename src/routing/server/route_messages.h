// Encodes routes as serialized WatchRoutesResponse messages.
//
// A message is a list of parts. The bytes of all parts, one after another, are one serialized
// message, because protobuf merges concatenated messages. So all streams can share one part.
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

/// Immutable, shared by all streams that send it.
using Bytes = std::shared_ptr<const std::string>;

struct RouteMessage {
  std::vector<Bytes> parts;
};

/// The part that only a stream's first message has: group, mapping, incarnation, server and `anew`.
Bytes EncodeOpening(const runtime::RouteGroup& group, bool anew);

/// Encodes routes, and the nodes that lead or stand by for their shards. A message may have at most
/// one part of this kind, because a route names nodes by their indexes in the message. REQUIRES: no
/// pointer is null.
Bytes EncodeRoutes(const std::vector<const runtime::ViewRoute*>& routes);

/// A message's words about the view behind its routes: how complete it is, and how old.
struct ViewWords {
  bool snapshot_end = false;  ///< the snapshot ends with this message
  Revision complete_to{};  ///< the stream has all changes up to this revision; 0: inside a snapshot
  Duration age{0};         ///< the time since the view was last proven current
  bool stale = false;      ///< the server can't tell whether the view is current
  std::string_view check{};  ///< DigestOf all routes that the server has; empty: no check
};
Bytes EncodeWords(const ViewWords& words);

/// Returns the digest of the routes (routing/route_digest.h). REQUIRES: `routes` has each shard
/// once, in the order of shards; no pointer is null.
std::string DigestOf(const std::vector<const runtime::ViewRoute*>& routes);

v1::KeyMapping MappingOf(const runtime::RouteGroup& group);
/// Leaves the indexes of the leader and of the standbys unset, because they depend on the message.
v1::Route ToProto(const runtime::ViewRoute& route);
google::protobuf::Duration ToProto(Duration duration);

}  // namespace baton::routing
