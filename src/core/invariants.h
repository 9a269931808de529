// Invariants: what must hold of one Core after every step, whatever happened before it.
//
// Tests and the simulator run it after each step; it costs as much as looking at every shard held,
// so production does not. Pure; called by whoever steps the core.
#pragma once

#include <string>
#include <vector>

#include "core/core.h"

namespace baton::core {

/// One line for each thing that is wrong; empty: all is well.
std::vector<std::string> FindViolations(const Core& core);

}  // namespace baton::core
