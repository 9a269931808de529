// Starts a node's own guard, if the node's options ask for one. Any thread.
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
  std::unique_ptr<OwnGuard> guard;  ///< null: the node has no guard of its own
  /// Why no guard can act, although NodeOptions::guard is not kOff; empty otherwise.
  std::string cannot_act;
};

/// Why no guard can act for a node that holds this lock; empty: one can. `external`: another
/// process acts on what the node leads, so the death of the node's process proves nothing.
std::string WhyNoGuardActs(const StateLockFound& found, bool external);

/// `why_not` says why no guard can act for the node; empty: a guard can act. Starts none if
/// NodeOptions::guard is not kOwn, if NodeOptions::guard_program is empty, or if `why_not` is not
/// empty. Logs StartedGuard::cannot_act as a warning. Also warns if this process is the first one
/// of its container, because its guard dies with it; and if `hang_timeout` is too long for the
/// lease. Errors: those of OwnGuard::Start. REQUIRES: the node holds the lock of its state
/// directory, and `log` outlives the guard.
Result<StartedGuard> StartOwnGuard(const NodeOptions& options, const std::string& why_not,
                                   NodeLog& log);

}  // namespace baton::runtime
