// Invariants: what must hold of one Core after every step, whatever happened before it.
//
// Tests and the simulator check them after each step. Production does not, because a check looks at
// every shard held. Pure; the thread that steps the core calls it.
#pragma once

#include <string>
#include <vector>

#include "core/core.h"

namespace baton::core {

/// Returns one line for each violation; empty: there is no violation. In groups of more than 64
/// shards, leaves out the checks that look at every shard of the group. REQUIRES: no step is
/// running.
std::vector<std::string> FindViolations(const Core& core);

}  // namespace baton::core
