// Whether batond's node has a guard.
#pragma once

#include "app/daemon/daemon_options.h"
#include "baton/options.h"

namespace baton::app {

/// Sets the guard of `node`, whose program is the baton-guard beside batond's own program, or else
/// on PATH. A guard that nobody asked for is left out if there is a sidecar, since a guard does
/// nothing then, and, with a warning, if there is no such program. Any thread.
void ChooseGuard(const DaemonOptions& options, NodeOptions& node);

/// Whether ChooseGuard gives the node a guard of its own. Any thread.
bool HasOwnGuard(const DaemonOptions& options);

}  // namespace baton::app
