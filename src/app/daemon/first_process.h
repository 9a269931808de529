// batond as the first process of a container.
//
// When the first process of a pid namespace ends, the kernel kills all other processes of the
// namespace. If the node were the first process, its guard would die with it, and could not end the
// node's session. So the first process is a batond without a node. It runs the node as its child.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace baton::app {

/// Runs this program again, as a child process that is the node. `arguments`: the child's
/// arguments, without the program's name. The child's stdin is empty. Passes SIGTERM and SIGINT on
/// to the node. Ignores SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2. Reaps every child of this process.
/// After the node's end, waits up to 2 s for the processes that the node left, such as the guard.
/// Returns this process's exit code: the node's code, or 128 plus the number of the signal that
/// killed the node. nullopt: the child can't be started. Then stderr says why, and this process may
/// run the node itself. REQUIRES (not checked): this process has one thread, and no children that
/// other code waits for.
std::optional<int> RunNodeAsChild(const std::vector<std::string>& arguments);

}  // namespace baton::app
