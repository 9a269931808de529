// AwaitDeath: waits until the process that holds a node's state directory is dead, and returns the
// sessions that it leaves.
//
// The kernel frees the lock on the file when its last holder is gone, after all of its threads have
// stopped. A guard waits for the shared lock, reads the file under it, releases the lock at once,
// and only then acts. So a restarted node hardly waits. The content stays true, because the
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
  /// The sessions to end; empty: the node left in order, or had no session.
  std::vector<SessionId> sessions{};
  /// When this process got the lock, by BootClock, if it had to wait for the lock. The process of
  /// sessions.front() ended just before; those of other sessions ended earlier. Unset: the lock was
  /// free at once, so nobody knows how long the process has been dead.
  std::optional<TimePoint> known_since{};
};

/// Blocks, without a bound, while a process holds the lock exclusively; nothing can end the wait.
/// `directory`: the node's state directory. `trust`: see LockTrust. Errors:
///  - kNotFound: there is no file yet, so call again later;
///  - kFailedPrecondition: the file proves nothing (its node may have had no session yet), or
///    forbids guards to act on it; the message says why;
///  - kUnavailable: the file can't be opened or locked.
Result<Death> AwaitDeath(const std::string& directory, LockTrust trust);

}  // namespace baton::runtime
