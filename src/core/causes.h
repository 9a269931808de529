// Causes: why the assignment gives a shard to a node (baton/cause.h).
//
// Nodes, forecasts and plans ask the same functions. Pure; any thread.
#pragma once

#include "baton/cause.h"
#include "core/assignment.h"
#include "core/shard_rules.h"

namespace baton::core {

/// Where a claim or a move takes a shard.
struct Destination {
  const ShardRules& rules;
  ShardId shard;  ///< its number in the group
  const MemberFact& node;
};

/// Why the claim is its member's. REQUIRES: Assign(input) has the claim, or `input` is the same
/// with claims carried out.
Cause CauseOf(const AssignmentInput& input, const PlannedClaim& claim, const Destination& to);

/// Why the shard moves. REQUIRES: PlanMoves(input) has the move, perhaps with another target, or
/// `input` is the same with moves carried out.
Cause CauseOf(const AssignmentInput& input, const PlannedMove& move, const Destination& to);

}  // namespace baton::core
