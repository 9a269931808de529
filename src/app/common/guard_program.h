// Finds the program baton-guard, which ends a node's session when the node's process dies.
#pragma once

#include <string>

namespace baton::app {

/// Returns the path of baton-guard in the folder of this process's program. If no executable file
/// is there, returns "baton-guard", and the caller looks it up on PATH. Any thread.
std::string GuardProgram();

}  // namespace baton::app
