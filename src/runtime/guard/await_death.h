// AwaitDeath: waits until the process that holds a node's state directory is dead, and returns the
// sessions that this process leaves.
//
// The node's process holds an exclusive lock on the file in its state directory (state_file.h). The
// kernel frees this lock after all threads of the process have stopped. AwaitDeath waits for a
// shared lock, reads the file, and releases the lock before it returns. So a restarted node hardly
// waits for a guard. The result stays true, because the processes that wrote the file are dead for
// ever.
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
  /// order or had no session.
  std::vector<SessionId> sessions{};
  /// When AwaitDeath got the lock, by BootClock, if it had to wait. The process of sessions.front()
  /// ended just before this time; the processes of the other sessions may have ended earlier.
  /// Unset: the lock was free at once, so nobody knows how long the process has been dead.
  std::optional<TimePoint> known_since{};
};

/// Blocks without a bound while a process holds the exclusive lock; nothing can end the wait. May
/// be called again, because a later process may write the file. `directory`: the node's state
/// directory. `trust`: see LockTrust. Errors:
///  - kNotFound: there is no file, or its node never had a session. AwaitDeath does not wait for a
///    file, so call it again later.
///  - kFailedPrecondition: the sessions must not be ended. The message says why. For example, the
///    file is damaged or proves nothing (CheckProof), its node wants no guard, or another process
///    acts on what the session leads (StateFile::external).
///  - kUnavailable: the file is a symbolic link, can't be opened, or can't be locked.
Result<Death> AwaitDeath(const std::string& directory, LockTrust trust);

}  // namespace baton::runtime
