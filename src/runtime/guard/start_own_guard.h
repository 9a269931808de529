// Starts the guard of its own that a node's options ask for. Any thread.
#pragma once

#include <memory>
#include <string>

#include "baton/options.h"
#include "baton/result.h"
#include "runtime/guard/own_guard.h"
#include "runtime/node_log.h"

namespace baton::runtime {

/// `why_not` says why no guard can act for the node; empty: a guard can act. Returns null if the
/// options ask for no guard of the node's own, or if `why_not` is not empty. If `why_not` is not
/// empty and the options ask for any guard, logs it as a warning. Errors: see OwnGuard::Start.
/// REQUIRES: the node holds the lock of its state directory, and `log` outlives the guard.
Result<std::unique_ptr<OwnGuard>> StartOwnGuard(const NodeOptions& options,
                                                const std::string& why_not, NodeLog& log);

}  // namespace baton::runtime
