// AwaitDeath: waits until the process that holds a node's state directory is dead, and returns the
// sessions that this process leaves.
//
// The node's process holds an exclusive lock on the file in its state directory (state_file.h). The
// kernel frees this lock when the process has ended, after all of its threads have stopped.
// AwaitDeath waits for a shared lock, reads the file, and releases the lock at once. Only then does
// a guard act. So a restarted node hardly waits. The content of the file stays true, because the
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
  /// The sessions to end, newest first. Empty: there is nothing to end, because the node left in
  /// order, or had no session.
  std::vector<SessionId> sessions{};
  /// When AwaitDeath got the lock, by BootClock, if it had to wait for the lock. The process of
  /// sessions.front() ended just before this time. The processes of the other sessions may have
  /// ended earlier. Unset: the lock was free at once, so nobody knows how long the process has been
  /// dead.
  std::optional<TimePoint> known_since{};
};

/// Blocks, without a bound, while a process holds the lock exclusively; nothing can end the wait.
/// May be called again: a later process may have written the file. `directory`: the node's state
/// directory. `trust`: see LockTrust. Errors:
///  - kNotFound: there is no file yet, or its node never had a session. Call again later: without a
///    file, AwaitDeath does not wait.
///  - kFailedPrecondition: the sessions must not be ended; the message says why. For example, the
///    file is damaged or proves nothing (CheckProof), or its node wants no guard. Or another
///    process acts on what the session leads (StateFile::external): then this death proves nothing.
///  - kUnavailable: the file can't be opened (also: it is a symbolic link) or locked.
Result<Death> AwaitDeath(const std::string& directory, LockTrust trust);

}  // namespace baton::runtime
