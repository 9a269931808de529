// Starts a node whose leaderships another process acts on, for the sidecar. Any thread.
#pragma once

#include <memory>

#include "baton/node.h"
#include "runtime/application.h"

namespace baton::runtime {

struct NodeWithApplication {
  /// Like Node::Start, with the same errors, but with an application instead of a listener. The
  /// node is no member of the group until the application is attached. The address in routes is
  /// `service_address` alone, even if it is empty. The node's own guard never acts, because the
  /// death of this process proves nothing. REQUIRES (not checked): `application` is not null, and
  /// `watchdog` is 0, because the node's own watchdog expects Node::Alive.
  static Result<std::unique_ptr<Node>> Start(NodeOptions options,
                                             std::shared_ptr<Application> application);
};

}  // namespace baton::runtime
