// Pools: which members the placement rules want for which shards. This is an input of the
// assignment.
//
// The candidates of a rule are the nodes that fit its `require`, have a weight above 0, and don't
// drain. If all nodes that fit `require` and have a weight above 0 drain, these are the candidates.
// The rule wants the candidates that fit its first preference. If no candidate fits the first
// preference, the rule wants those that fit the second one, and so on. If no candidate fits any
// preference, the rule wants all candidates.
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
  /// For each rule, by its number from 0: the AssignmentShard::pool of the rule's shards. Pool 0
  /// forbids no member, and wants every member that may lead now. Rules that forbid the same
  /// members and want the same members have the same pool.
  std::vector<std::uint32_t> of_rule;

  /// Whether the rule with this number, from 0, wants some member. If false, no member may lead the
  /// rule's shards now. Always true for a rule of pool 0, even if no member may lead. REQUIRES: the
  /// number is below of_rule.size(); otherwise the function throws std::out_of_range.
  bool Feasible(std::size_t rule) const;
  friend bool operator==(const Pools&, const Pools&) = default;
};
/// Returns the pools of the rules. `facts` has each member's labels, in the order of `members`.
/// REQUIRES: `facts` and `members` are equally long (checked); no pointer is null (not checked).
Pools PoolsFor(const Placement& placement, const std::vector<AssignmentMember>& members,
               const std::vector<const MemberFact*>& facts);

/// Returns the number, from 1, of the rule's first preference that the node fits; 0: the node fits
/// no preference. Ignores `require`.
std::size_t PreferenceOf(const PlacementRule& rule, const MemberFact& node);
/// Returns those of `nodes` that the rule wants, in the order of `nodes`. Empty if no node fits
/// `require`. Looks at labels, not at weights and drains: the caller leaves out nodes that are no
/// candidates.
std::vector<const MemberFact*> FirstChoice(const PlacementRule& rule,
                                           const std::vector<const MemberFact*>& nodes);

/// Whether at least two members might get a shard of this pool: the pool wants them, they have a
/// weight above 0, and they don't drain. `pool` is as in AssignmentShard::pool. REQUIRES (not
/// checked): this pool exists.
bool SomeChoice(const AssignmentInput& input, std::uint32_t pool);

}  // namespace baton::core
