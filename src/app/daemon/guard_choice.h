// Whether batond's node has a guard.
#pragma once

#include "app/daemon/daemon_options.h"
#include "baton/options.h"

namespace baton::app {

/// Sets guard_program of `node` (see GuardProgram). If DaemonOptions::guard_by_default is set, a
/// sidecar turns the guard of `node` off, because no guard acts with one; and if the program
/// baton-guard is missing, guard_program is empty, so that the node starts without it. Any thread.
void ChooseGuard(const DaemonOptions& options, NodeOptions& node);

/// Whether the node will have a guard of its own that can act: its mode is kOwn, the program
/// baton-guard exists, and there is no sidecar. Any thread.
bool HasOwnGuard(const DaemonOptions& options);

}  // namespace baton::app
