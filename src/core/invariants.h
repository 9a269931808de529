// Invariants: what must hold of one Core after every step, whatever happened before it.
//
// Tests and the simulator check these invariants after each step. Nodes in production don't. Pure;
// the thread that steps the core calls it.
#pragma once

#include <string>
#include <vector>

#include "core/core.h"

namespace baton::core {

/// Returns one line for each violation; empty: there is no violation. In groups of more than 64
/// shards, leaves out the checks that look at every shard of the group. REQUIRES: no Core::Step is
/// running.
std::vector<std::string> FindViolations(const Core& core);

}  // namespace baton::core
