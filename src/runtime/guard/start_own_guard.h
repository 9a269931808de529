// Starts a node's own guard, if the node's options ask for it. Any thread.
#pragma once

#include <memory>
#include <string>

#include "baton/options.h"
#include "baton/result.h"
#include "runtime/guard/own_guard.h"
#include "runtime/node_log.h"
#include "runtime/state_lock.h"

namespace baton::runtime {

struct StartedGuard {
  std::unique_ptr<OwnGuard> guard;  ///< null: no guard was started
  /// If NodeOptions::guard is not kOff, but no guard can act: why, as one line. Otherwise empty.
  std::string cannot_act;
};

/// Returns why no guard can act for the node whose lock has `found`, as one line. Empty: a guard
/// can act. `external`: another process acts on what the node leads, so the death of the node's
/// process proves nothing.
std::string WhyNoGuardActs(const StateLockFound& found, bool external);

/// Starts the node's own guard. `why_not`: the result of WhyNoGuardActs. Starts no guard if
/// NodeOptions::guard is not kOwn, if NodeOptions::guard_program is empty, or if `why_not` is not
/// empty; this is no error. Errors: those of OwnGuard::Start. Logs a warning in these cases:
///  - StartedGuard::cannot_act is not empty.
///  - This process is the first process of its container: the guard would die with it.
///  - NodeOptions::hang_timeout is not below NodeOptions::ttl: the lease would end first.
/// REQUIRES: the node holds the lock of its state directory, and `log` outlives the guard.
Result<StartedGuard> StartOwnGuard(const NodeOptions& options, const std::string& why_not,
                                   NodeLog& log);

}  // namespace baton::runtime
