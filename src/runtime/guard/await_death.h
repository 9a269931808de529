// AwaitDeath: waits until the process that holds a node's state directory is dead, and says which
// sessions it leaves.
//
// The kernel frees the lock on the file when its last holder is gone, after all of its threads have
// stopped. A guard waits for the shared lock, reads the file under it, lets the lock go at once,
// and only then acts: so a restarted node is hardly held up, and what was read stays true (the
// processes that wrote it are dead for ever).
//
// Any thread; blocks.
#pragma once

#include <string>
#include <vector>

#include "baton/result.h"
#include "baton/types.h"
#include "runtime/state_file.h"

namespace baton::runtime {

struct Death {
  std::string group{};
  NodeId node{};
  std::vector<SessionId> sessions{};  ///< to be ended; empty: the node left in order, or had none
};

/// Blocks while a process holds the lock exclusively. kNotFound: there is no file.
/// kFailedPrecondition: the file proves nothing, or says that guards must not act on it; the
/// message says why. kUnavailable: the file can't be read.
Result<Death> AwaitDeath(const std::string& directory, LockTrust trust);

}  // namespace baton::runtime
