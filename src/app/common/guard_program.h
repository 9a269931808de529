// Finds the program baton-guard, which ends a node's session when the node's process dies.
#pragma once

#include <string>

namespace baton::app {

/// Returns the path of baton-guard in the folder of this process's own program. If this folder has
/// no baton-guard that can be executed, returns "baton-guard"; look for this name on PATH then. Any
/// thread.
std::string GuardProgram();

}  // namespace baton::app
