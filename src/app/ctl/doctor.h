// batonctl's verb `doctor`: shows what a node finds when it checks itself, etcd and the group.
#pragma once

#include "app/ctl/ctl.h"

namespace baton::app {

/// Prints the node's findings, the difference between this host's clock and the node's, and the
/// failing activations of other nodes that answer (of 16 nodes at most). Waits up to
/// CtlOptions::timeout, or 20 s. kFailed: a finding is a problem. Warnings give kDone.
ExitCode Examine(const CtlOptions& options);

}  // namespace baton::app
