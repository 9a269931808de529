// The even assignment: every candidate may lead every shard. It reads neither
// AssignmentInput::pools nor AssignmentShard::standby.
// Part of assignment.h, which calls it once for each pool. Pure functions.
#pragma once

#include <vector>

#include "core/assignment.h"

namespace baton::core {

/// Like Assign. What a member holds elsewhere counts in its target and in what it holds.
Assignment AssignEvenly(const AssignmentInput& input);

/// Like PlanMoves. All shards leave a member that has weight 0, and one that drains.
std::vector<PlannedMove> PlanEvenMoves(const AssignmentInput& input,
                                       const std::vector<bool>& movable, std::size_t limit);

}  // namespace baton::core
