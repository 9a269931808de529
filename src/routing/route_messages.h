// Routes as the bytes of WatchRoutesResponse.
//
// A message is a list of parts whose bytes, one after another, are one serialized message (protobuf
// merges what is concatenated): so that parts are encoded once for all streams and shared.
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "baton/v1/routing.pb.h"
#include "runtime/control.h"

namespace baton::routing {

/// Immutable, and shared by all that send it.
using Bytes = std::shared_ptr<const std::string>;

struct RouteMessage {
  std::vector<Bytes> parts;
};

/// Of the first message of a stream.
Bytes EncodeOpening(const runtime::RouteGroup& group, bool anew);

/// Routes, with the nodes they name. At most one part of a message may have routes: the indices of
/// its nodes count from the message's first.
Bytes EncodeRoutes(const std::vector<const runtime::Route*>& routes);

/// What a message says of the view besides routes.
struct ViewWords {
  bool snapshot_end = false;
  Revision complete_to{};  ///< 0: not said
  Duration age{0};
  bool stale = false;
};
Bytes EncodeWords(const ViewWords& words);

v1::KeyMapping MappingOf(const runtime::RouteGroup& group);
/// Without the leader's index.
v1::Route ToProto(const runtime::Route& route);
google::protobuf::Duration ToProto(Duration duration);

}  // namespace baton::routing
