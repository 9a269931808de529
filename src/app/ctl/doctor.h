// batonctl's verb `doctor`: shows what a node finds when it checks itself, etcd and the group.
// Blocking; one thread.
#pragma once

#include "app/ctl/ctl.h"

namespace baton::app {

/// Prints the node's findings, and the difference between this host's clock and the node's. Also
/// prints findings about other nodes, but about 16 nodes at most:
///  - a problem if the node fails to activate shards;
///  - a warning if callbacks of shards that the node gave up have not returned.
/// For the findings about other nodes, asks the node for the members of the group, and then asks up
/// to 128 live members themselves (AskOthers, without the token). Each of these two steps takes 0.7
/// s at most. Nodes that don't answer are left out. All steps together take CtlOptions::timeout at
/// most; if it is unset, 20 s.
/// Returns kFailed if any finding is a problem, also a finding about another node. Warnings alone
/// give kDone. If the node itself does not answer, prints the error and returns its exit code (see
/// Fail).
ExitCode Examine(const CtlOptions& options);

}  // namespace baton::app
