// ShardRules: the group's placement rules, looked up by shard.
//
// Pure and single-threaded: owned by a View. Pointers and references that it returns are valid
// until the next Set.
#pragma once

#include <cstdint>
#include <vector>

#include "base/facts.h"
#include "base/placement.h"

namespace baton::core {

class ShardRules {
 public:
  /// Replaces all rules by these, for shards 0 to `shards` - 1. If several rules name a shard, the
  /// first one counts. A rule that names no shards is for all shards. Ignores the parts of ranges
  /// beyond the last shard. Takes O(ranges * shards) at most. REQUIRES: CheckPlacement accepts the
  /// rules. Of this, only their number is checked: more than kMaxPlacementRules rules abort the
  /// program (BATON_CHECK). All questions below REQUIRE a shard below `shards`. If there are rules,
  /// a question about another shard throws std::out_of_range.
  void Set(const Placement& placement, std::uint32_t shards);
  /// Whether there are no rules.
  bool empty() const { return placement_.empty(); }
  const Placement& placement() const { return placement_; }
  /// The number of the rule that counts for the shard, from 0; size(): no rule counts for it.
  std::size_t NumberOf(ShardId shard) const { return empty() ? 0 : rule_of_.at(shard.value); }
  std::size_t size() const { return placement_.size(); }
  /// The rule that counts for the shard; null: no rule counts for it.
  const PlacementRule* Of(ShardId shard) const {
    const std::size_t number = NumberOf(shard);
    return number < size() ? &placement_[number] : nullptr;
  }
  /// Whether the rules let the node begin to lead the shard. Does not check other conditions
  /// (may_claim.h). True if no rule counts for the shard.
  bool Allow(ShardId shard, const MemberFact& node) const {
    const PlacementRule* rule = Of(shard);
    return rule == nullptr || node.Fits(rule->require);
  }

 private:
  Placement placement_;
  std::vector<std::uint8_t> rule_of_;  ///< by shard; empty without rules
};

}  // namespace baton::core
