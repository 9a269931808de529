// Pools: which members the placement rules want for which shards, in the form that the assignment
// reads.
//
// The nodes that may lead by a rule fit its `require`, have a weight above 0, and don't drain. Of
// these, the rule wants those that fit its first preference. If there are none, it wants those that
// fit the second one, and so on. If no node fits a preference, it wants them all. If all nodes that
// fit `require` and have a weight drain, the rule chooses among these in the same way.
//
// Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/placement.h"
#include "core/assignment.h"

namespace baton::core {

struct Pools {
  std::vector<AssignmentPool> pools;
  /// AssignmentShard::pool of each rule's shards. The index is the rule's number, from 0. Pool 0
  /// forbids no member, and wants every one that may lead now. Rules that forbid the same members
  /// and want the same ones have the same pool.
  std::vector<std::uint32_t> of_rule;

  /// Whether the rule with this number, from 0, wants some member. If not, nobody may lead the
  /// rule's shards now. Always true for a rule of pool 0, also if no member may lead. REQUIRES
  /// (checked): the rule is below of_rule.size().
  bool Feasible(std::size_t rule) const;
  friend bool operator==(const Pools&, const Pools&) = default;
};
/// `facts` has each member's labels, in the order of `members`. REQUIRES (checked): both are
/// equally long.
Pools PoolsFor(const Placement& placement, const std::vector<AssignmentMember>& members,
               const std::vector<const MemberFact*>& facts);

/// Which of the rule's preferences the node fits first, from 1; 0: none.
std::size_t PreferenceOf(const PlacementRule& rule, const MemberFact& node);
/// Of `nodes`, those that the rule wants first, in the same order; empty if it allows none of them.
/// Looks at labels only: leave out nodes that drain or have weight 0.
std::vector<const MemberFact*> FirstChoice(const PlacementRule& rule,
                                           const std::vector<const MemberFact*>& nodes);

/// Whether several members might get a shard of this pool. Members that drain don't count, even if
/// all do. `pool` as in AssignmentShard.
bool SomeChoice(const AssignmentInput& input, std::uint32_t pool);

}  // namespace baton::core
