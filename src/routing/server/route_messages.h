// Encodes routes as serialized WatchRoutesResponse messages.
//
// A message is a list of parts. Protobuf merges concatenated messages, so the parts' bytes, one
// after another, are one serialized message. A part can therefore be encoded once and shared by all
// streams.
//
// Pure functions; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
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

/// The part that only a stream's first message has.
Bytes EncodeOpening(const runtime::RouteGroup& group, bool anew);

/// Routes, and the nodes that they name. A message may have at most one such part, because routes
/// refer to nodes by their index in the message.
Bytes EncodeRoutes(const std::vector<const runtime::ViewRoute*>& routes);

/// The state of the view that goes with a message's routes.
struct ViewWords {
  bool snapshot_end = false;
  Revision complete_to{};  ///< 0: absent
  Duration age{0};
  bool stale = false;
};
Bytes EncodeWords(const ViewWords& words);

v1::KeyMapping MappingOf(const runtime::RouteGroup& group);
/// Leaves out the leader's index, which depends on the message.
v1::Route ToProto(const runtime::ViewRoute& route);
google::protobuf::Duration ToProto(Duration duration);

}  // namespace baton::routing
