// Finds the program that ends the node's session when batond dies.
#pragma once

#include <string>

namespace baton::app {

/// The baton-guard beside batond's own program, or else the name to look up on PATH. Any thread.
std::string GuardProgram();

}  // namespace baton::app
