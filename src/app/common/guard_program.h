// Finds the program baton-guard, which ends a node's session when the node's process dies.
#pragma once

#include <string>

namespace baton::app {

/// The baton-guard beside this process's own program, or else the name to look up on PATH. Any
/// thread.
std::string GuardProgram();

}  // namespace baton::app
