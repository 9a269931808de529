// batonctl's verb `doctor`: shows what a node finds when it checks itself, etcd and the group.
// Blocking; one thread.
#pragma once

#include "app/ctl/ctl.h"

namespace baton::app {

/// Prints the node's findings, the difference between this host's clock and the node's, and a
/// problem for each other node that fails to activate shards (16 at most). To find these, it asks
/// up to 128 live nodes, for 0.7 s at most and without a token, and says nothing of those that
/// don't answer. Waits up to CtlOptions::timeout for everything; unset: 20 s. Returns kFailed if a
/// finding is a problem, also another node's; warnings give kDone. If the node itself does not
/// answer, prints that error and returns its exit code (see Fail).
ExitCode Examine(const CtlOptions& options);

}  // namespace baton::app
