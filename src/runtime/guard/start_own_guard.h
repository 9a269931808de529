// Starts a node's own guard, if the node's options ask for one. Any thread.
#pragma once

#include <memory>
#include <string>

#include "baton/options.h"
#include "baton/result.h"
#include "runtime/guard/own_guard.h"
#include "runtime/node_log.h"

namespace baton::runtime {

/// `why_not` says why no guard can act for the node; empty: a guard can act. Returns null if
/// NodeOptions::guard is not kOwn, or if `why_not` is not empty. If `why_not` is not empty, and
/// NodeOptions::guard is not kOff, logs `why_not` as a warning. Also warns if this process is the
/// first one of its container, because its guard dies with it. Errors: those of OwnGuard::Start.
/// REQUIRES: the node holds the lock of its state directory, and `log` outlives the guard.
Result<std::unique_ptr<OwnGuard>> StartOwnGuard(const NodeOptions& options,
                                                const std::string& why_not, NodeLog& log);

}  // namespace baton::runtime
