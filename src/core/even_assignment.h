// AssignEvenly, PlanEvenMoves: the assignment in which every candidate (assignment.h) may lead
// every shard. They ignore pools and standbys. Assign and PlanMoves (assignment.h) call them once
// for each pool, and once for the shards without a pool. Pure functions.
#pragma once

#include <vector>

#include "core/assignment.h"

namespace baton::core {

/// Like Assign. A member's `target` and `held` include its AssignmentMember::elsewhere. Without
/// candidates, all targets are 0.
Assignment AssignEvenly(const AssignmentInput& input);

/// Like PlanMoves. Nothing moves if there are no candidates, or if all candidates drain. Otherwise
/// a member that drains or has weight 0 gives all its shards away. A move is urgent if its `from`
/// drains or is `forbidden`.
std::vector<PlannedMove> PlanEvenMoves(const AssignmentInput& input,
                                       const std::vector<bool>& movable, std::size_t limit);

}  // namespace baton::core
