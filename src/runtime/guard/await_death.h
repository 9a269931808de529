// AwaitDeath: waits until the process that holds a node's state directory is dead, and returns the
// sessions that it leaves.
//
// The node's process holds an exclusive lock on the file in its state directory (state_file.h). The
// kernel frees this lock when the process has ended, after all of its threads have stopped. A guard
// waits for a shared lock, reads the file while it has the lock, releases the lock at once, and
// only then acts. So a restarted node hardly waits. What the file says stays true, because the
// processes that wrote it are dead for ever.
//
// Any thread; blocks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "baton/result.h"
#include "baton/types.h"
#include "runtime/state_file.h"

namespace baton::runtime {

struct Death {
  std::string group{};
  NodeId node{};
  /// The sessions to end, newest first; empty: the node left in order, or had no session.
  std::vector<SessionId> sessions{};
  /// When this process got the lock, by BootClock, if it had to wait for the lock. The process of
  /// sessions.front() ended just before; the processes of the other sessions may have ended
  /// earlier. Unset: the lock was free at once, so nobody knows how long the process has been dead.
  std::optional<TimePoint> known_since{};
};

/// Blocks, without a bound, while a process holds the lock exclusively; nothing can end the wait.
/// May be called again: a later process may have written the file. `directory`: the node's state
/// directory. `trust`: see LockTrust. Errors:
///  - kNotFound: there is no file yet, or its node has had no session yet, so call again later;
///  - kFailedPrecondition: the file proves nothing, its node wants no guard, or another process
///    acts on what the session leads (StateFile::external), so the node's death proves nothing; the
///    message says why;
///  - kUnavailable: the file can't be opened or locked.
Result<Death> AwaitDeath(const std::string& directory, LockTrust trust);

}  // namespace baton::runtime
