// ShardRules: the group's placement rules, looked up by shard. Has no rules before the first Set.
//
// Pure and single-threaded: owned by a View. Each Set invalidates returned pointers and references.
#pragma once

#include <cstdint>
#include <vector>

#include "base/facts.h"
#include "base/placement.h"

namespace baton::core {

class ShardRules {
 public:
  /// Replaces all rules by those of `placement`, for a group of `shards` shards. For each shard,
  /// the first rule that names it counts; a rule without ranges names all shards. Ignores the parts
  /// of ranges beyond the last shard. Takes O(ranges * shards) at most. REQUIRES: CheckPlacement
  /// accepts the rules. Set checks their number alone: more than kMaxPlacementRules abort the
  /// program (BATON_CHECK).
  ///
  /// All questions below REQUIRE a shard below `shards`. If there are rules, a question about
  /// another shard throws std::out_of_range.
  void Set(const Placement& placement, std::uint32_t shards);
  /// Whether there are no rules.
  bool empty() const { return placement_.empty(); }
  const Placement& placement() const { return placement_; }
  /// The number of the rule that counts for the shard, from 0; size() if no rule counts for it.
  std::size_t NumberOf(ShardId shard) const { return empty() ? 0 : rule_of_.at(shard.value); }
  std::size_t size() const { return placement_.size(); }
  /// The rule that counts for the shard; null if no rule counts for it.
  const PlacementRule* Of(ShardId shard) const {
    const std::size_t number = NumberOf(shard);
    return number < size() ? &placement_[number] : nullptr;
  }
  /// Whether the rules let the node begin to lead the shard (may_claim.h has the other conditions).
  /// True if no rule counts for the shard.
  bool Allow(ShardId shard, const MemberFact& node) const {
    const PlacementRule* rule = Of(shard);
    return rule == nullptr || node.Fits(rule->require);
  }

 private:
  Placement placement_;
  std::vector<std::uint8_t> rule_of_;  ///< by shard; empty without rules
};

}  // namespace baton::core
