// How the sidecar starts a node whose leaderships another process acts on.
#pragma once

#include <memory>

#include "baton/node.h"
#include "runtime/application.h"

namespace baton::runtime {

struct NodeWithApplication {
  /// As Node::Start, with an application instead of a listener: REQUIRES one. The node takes no
  /// part until the application is told to be there.
  static Result<std::unique_ptr<Node>> Start(NodeOptions options,
                                             std::shared_ptr<Application> application);
};

}  // namespace baton::runtime
