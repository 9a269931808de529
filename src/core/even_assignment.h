// The even assignment: every candidate may lead every shard. It reads neither
// AssignmentInput::pools nor AssignmentShard::standby. Part of assignment.h, which calls it once
// for each pool, and once for the shards without a pool. Pure functions.
#pragma once

#include <vector>

#include "core/assignment.h"

namespace baton::core {

/// Like Assign. AssignmentMember::elsewhere is included in the member's `target` and `held`.
/// Without candidates, all targets are 0.
Assignment AssignEvenly(const AssignmentInput& input);

/// Like PlanMoves. A member that drains or has weight 0 gives all its shards away, unless all
/// candidates drain: then nothing moves. A move is urgent if its `from` drains or is `forbidden`.
std::vector<PlannedMove> PlanEvenMoves(const AssignmentInput& input,
                                       const std::vector<bool>& movable, std::size_t limit);

}  // namespace baton::core
