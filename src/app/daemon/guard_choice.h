// Decides whether batond's node has a guard.
#pragma once

#include "app/daemon/daemon_options.h"
#include "baton/options.h"

namespace baton::app {

/// Sets `node.guard_program` (see GuardProgram). If DaemonOptions::guard_by_default is set, there
/// are two exceptions. If there is a sidecar, sets `node.guard` to kOff, because no guard acts
/// beside a sidecar. Otherwise, if the program baton-guard is missing, leaves `node.guard_program`
/// empty, so that the node starts without a guard. Any thread.
void ChooseGuard(const DaemonOptions& options, NodeOptions& node);

/// Whether the node will have a guard of its own that can act: its mode is kOwn, the program
/// baton-guard exists, and there is no sidecar. Any thread.
bool HasOwnGuard(const DaemonOptions& options);

}  // namespace baton::app
