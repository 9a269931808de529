// Starts a node whose leaderships another process acts on, for the sidecar. Any thread.
#pragma once

#include <memory>

#include "baton/node.h"
#include "runtime/application.h"

namespace baton::runtime {

struct NodeWithApplication {
  /// Like Node::Start, with the same errors, but with an application instead of a listener. The
  /// node takes no part in the group until the application is attached. REQUIRES: `application` is
  /// not null.
  static Result<std::unique_ptr<Node>> Start(NodeOptions options,
                                             std::shared_ptr<Application> application);
};

}  // namespace baton::runtime
