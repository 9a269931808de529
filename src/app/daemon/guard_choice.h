// Decides whether batond's node has a guard (app/common/guard_program.h).
#pragma once

#include "app/daemon/daemon_options.h"
#include "baton/options.h"

namespace baton::app {

/// Sets `node.guard_program` to GuardProgram(). If DaemonOptions::guard_by_default is set, turns
/// the guard off in two cases. Any thread.
///  - There is a sidecar, beside which no guard acts: sets `node.guard` to kOff.
///  - The program baton-guard is missing: empties `node.guard_program`, which means no guard.
void ChooseGuard(const DaemonOptions& options, NodeOptions& node);

/// Whether the node will have a guard of its own that can act. True if its mode is kOwn, the
/// program baton-guard exists, and there is no sidecar. Any thread.
bool HasOwnGuard(const DaemonOptions& options);

}  // namespace baton::app
