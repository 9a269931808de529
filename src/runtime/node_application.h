// Starts a node for the sidecar: another process acts on the node's leaderships. Any thread.
#pragma once

#include <memory>

#include "baton/node.h"
#include "runtime/application.h"

namespace baton::runtime {

struct NodeWithApplication {
  /// Like Node::Start, with the same errors, but with an application instead of a listener. The
  /// node is no member of the group until the application is attached. Its address in routes is
  /// NodeOptions::service_address, even if that is empty. No guard acts for the node, because the
  /// death of this process proves nothing. REQUIRES (not checked): `application` is not null;
  /// NodeOptions::watchdog is 0, because the node's own watchdog expects Node::Alive.
  static Result<std::unique_ptr<Node>> Start(NodeOptions options,
                                             std::shared_ptr<Application> application);
};

}  // namespace baton::runtime
