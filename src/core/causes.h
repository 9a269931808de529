// Causes: why the assignment gives a shard to a node (baton/cause.h).
//
// Nodes, forecasts and plans call the same functions. Pure; any thread.
#pragma once

#include "baton/cause.h"
#include "core/assignment.h"
#include "core/shard_rules.h"

namespace baton::core {

/// The shard of a claim or a move, and the node that it goes to.
struct Destination {
  const ShardRules& rules;
  ShardId shard;  ///< its number in the group
  const MemberFact& node;
};

/// Why the assignment gives the shard to the claim's member. REQUIRES (not checked): `to` is of
/// this shard and member. Assign has returned the claim for `input`, or for `input` as it was
/// before other claims were carried out.
Cause CauseOf(const AssignmentInput& input, const PlannedClaim& claim, const Destination& to);

/// Why the shard moves. REQUIRES (not checked): `to` is of this shard and the move's target.
/// PlanMoves has returned the move (perhaps with another target) for `input`, or for `input` as it
/// was before other moves were carried out.
Cause CauseOf(const AssignmentInput& input, const PlannedMove& move, const Destination& to);

}  // namespace baton::core
