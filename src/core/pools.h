// Pools: which members the placement rules want for which shards, in the form that the assignment
// reads.
//
// The candidates of a rule are the nodes that fit its `require`, have a weight above 0, and don't
// drain. Of the candidates, the rule wants those that fit its first preference. If no candidate
// fits the first preference, it wants those that fit the second one, and so on. If no candidate
// fits any preference, it wants all candidates. If all nodes that fit `require` and have a weight
// above 0 drain, these are the candidates.
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
  /// For each rule, by its number from 0: the AssignmentShard::pool of its shards. Pool 0 forbids
  /// no member, and wants every member that may lead now. Rules that forbid the same members and
  /// want the same members have the same pool.
  std::vector<std::uint32_t> of_rule;

  /// Whether the rule with this number, from 0, wants some member. If not, no member may lead the
  /// rule's shards now. Always true for a rule of pool 0, even if no member may lead. REQUIRES: the
  /// rule is below of_rule.size(); otherwise it throws std::out_of_range.
  bool Feasible(std::size_t rule) const;
  friend bool operator==(const Pools&, const Pools&) = default;
};
/// Returns the pools of the rules. `facts` has each member's labels, in the order of `members`.
/// REQUIRES: both are equally long (checked), and no pointer is null (not checked).
Pools PoolsFor(const Placement& placement, const std::vector<AssignmentMember>& members,
               const std::vector<const MemberFact*>& facts);

/// Returns the number, from 1, of the rule's first preference that the node fits; 0: it fits no
/// preference. Does not look at `require`.
std::size_t PreferenceOf(const PlacementRule& rule, const MemberFact& node);
/// Returns those of `nodes` that the rule wants if all of them are candidates (see above), in the
/// same order. Empty if no node fits `require`. Looks at labels only: the caller leaves out nodes
/// that drain or have weight 0.
std::vector<const MemberFact*> FirstChoice(const PlacementRule& rule,
                                           const std::vector<const MemberFact*>& nodes);

/// Whether at least two members might get a shard of this pool: the pool wants them, they have a
/// weight above 0, and they don't drain. `pool` is as in AssignmentShard. REQUIRES (not checked):
/// this pool exists.
bool SomeChoice(const AssignmentInput& input, std::uint32_t pool);

}  // namespace baton::core
