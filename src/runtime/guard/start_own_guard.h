// Starts a node's own guard (OwnGuard), if the node's options ask for one. Any thread.
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
  /// Why no guard can act, as one line. Empty: a guard can act, or NodeOptions::guard is kOff.
  std::string cannot_act;
};

/// Returns why no guard can act for the node whose lock has `found`, as one line. Empty: a guard
/// can act. `external`: whether another process acts on what the node leads. Then no guard can act.
std::string WhyNoGuardActs(const StateLockFound& found, bool external);

/// Starts the node's own guard. `why_not`: the result of WhyNoGuardActs. Starts no guard, without
/// an error, if NodeOptions::guard is not kOwn, if NodeOptions::guard_program is empty, or if
/// `why_not` is not empty. Errors: those of OwnGuard::Start. Logs a warning in these cases:
///  - StartedGuard::cannot_act is not empty.
///  - A guard is started, and this process is the first process of its container. Then the guard
///    dies with this process.
///  - A guard is started, and NodeOptions::hang_timeout is above 0 but not below NodeOptions::ttl.
///    Then the lease may end first.
/// REQUIRES: the node holds the lock of its state directory; `log` outlives the guard.
Result<StartedGuard> StartOwnGuard(const NodeOptions& options, const std::string& why_not,
                                   NodeLog& log);

}  // namespace baton::runtime
