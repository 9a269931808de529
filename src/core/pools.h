// Pools: which members the placement rules want for which shards, in the form that the assignment
// reads.
//
// For each rule, the nodes are taken that may lead by it: they fit its `require`, have a weight,
// and don't drain. Of these, the rule wants those that fit its first preference; if there are none,
// those that fit its second, and so on; if none fits any preference, all of them. If every node
// that may lead by the rule drains, the rule wants these.
//
// Pure functions; any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "base/placement.h"
#include "core/assignment.h"

namespace baton::core {

struct Pools {
  std::vector<AssignmentPool> pools;
  /// By the rule's number: AssignmentShard::pool of its shards. 0: the rule wants every node that
  /// may lead now. Rules that want the same have the same pool.
  std::vector<std::uint32_t> of_rule;

  /// Whether the rule wants some member. If not, nobody may lead the rule's shards now.
  bool Feasible(std::size_t rule) const;
};
/// `facts` has each member's labels, and is as long as `members`.
Pools PoolsFor(const Placement& placement, const std::vector<AssignmentMember>& members,
               const std::vector<const MemberFact*>& facts);

/// Of `nodes`, those that the rule wants first; empty if it allows none of them.
std::vector<const MemberFact*> FirstChoice(const PlacementRule& rule,
                                           const std::vector<const MemberFact*>& nodes);

}  // namespace baton::core
