// batonctl's verb `doctor`: shows what a node finds when it checks itself, etcd and the group.
// Blocking; one thread.
#pragma once

#include "app/ctl/ctl.h"

namespace baton::app {

/// Asks the node at options.endpoint. Prints the node's findings, and the difference between this
/// host's clock and the node's. Also prints findings about other nodes, 16 nodes at most:
///  - a problem if the other node fails to activate shards;
///  - a warning if callbacks of shards that the other node gave up have not returned.
/// For these findings, asks the node for the members of the group, and then asks up to 128 live
/// members themselves (AskOthers in others.h). Each of these two steps takes 0.7 s at most. Other
/// nodes that don't answer are left out. The whole verb takes CtlOptions::timeout at most; if it is
/// unset, 20 s. Returns kFailed if any finding is a problem, and otherwise kDone. If the node
/// itself does not answer, prints the error and returns its exit code (Fail in output.h).
ExitCode Examine(const CtlOptions& options);

}  // namespace baton::app
