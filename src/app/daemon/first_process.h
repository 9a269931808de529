// FirstProcess: batond as the first process of a container.
//
// When the first process of a pid namespace ends, the kernel kills all others there, and with them
// a guard that has work to do. So the first process is batond without a node. It runs the node as
// its child, passes SIGTERM and SIGINT on, reaps what others leave to it, and gives the guard a
// moment after the node's end.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace baton::app {

/// Runs this program again, with these arguments, and waits for its end. Returns the exit code that
/// this process should have: the child's, or 128 plus its signal. nullopt: it can't be started.
/// REQUIRES: this process has one thread, and no children that others wait for.
std::optional<int> RunNodeAsChild(const std::vector<std::string>& arguments);

}  // namespace baton::app
