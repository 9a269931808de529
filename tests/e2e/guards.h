// The guards of nodes, as the kernel knows them.
//
// One thread at a time.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace baton::e2e {

/// A process that runs: its name and its parent.
struct RunningProcess {
  std::string name;
  pid_t parent = 0;
  bool zombie = false;  ///< it has ended, and its parent has not asked how
};
std::optional<RunningProcess> FindProcess(pid_t pid);
/// The ids of all processes.
std::vector<pid_t> AllProcesses();

/// The guard that the node has started, if it runs now.
std::optional<pid_t> GuardOf(pid_t node);

/// Whether the process waits for a lock on a file that another process holds.
bool WaitsForALock(pid_t pid);

/// How many sockets the process has open; unset: only root may ask that of a guard or batond.
std::optional<std::size_t> SocketsOf(pid_t pid);

/// Handles of guards whose nodes are ended. Most end in milliseconds. Those that can't reach etcd
/// would go on for minutes: the destructor waits a moment for them, and then ends them.
class LeftGuards {
 public:
  LeftGuards() = default;
  ~LeftGuards();
  LeftGuards(const LeftGuards&) = delete;
  LeftGuards& operator=(const LeftGuards&) = delete;

  /// REQUIRES: the node runs, and is ended after this.
  void Note(pid_t node);

 private:
  std::vector<int> handles_;
};

}  // namespace baton::e2e
