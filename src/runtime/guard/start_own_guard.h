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
/// NodeOptions::guard is not kOwn, or if `why_not` is not empty. Logs `why_not` as a warning if it
/// is not empty, unless NodeOptions::guard is kOff. Errors: see OwnGuard::Start. REQUIRES: the node
/// holds the lock of its state directory, and `log` outlives the guard.
Result<std::unique_ptr<OwnGuard>> StartOwnGuard(const NodeOptions& options,
                                                const std::string& why_not, NodeLog& log);

}  // namespace baton::runtime
