// RuledGroup: computes what a group with placement rules would do: first the claims of the
// vacancies, and then the moves of balance.
//
// RuledGroup calls the same functions as the nodes (core/pools.h, core/assignment.h, core/causes.h,
// core/standbys.h), as if all claims and moves could begin at once. `placement check`, `rebalance
// simulate` and `plan` use it.
//
// Call AddShard for all shards, then Claim once, then Balance once.
//
// Pure; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/facts.h"
#include "base/placement.h"
#include "baton/cause.h"
#include "core/assignment.h"
#include "core/causes.h"
#include "core/pools.h"
#include "core/shard_rules.h"
#include "core/standbys.h"

namespace baton::app {

/// A live node.
struct RuledNode {
  const MemberFact* fact = nullptr;  ///< id, weight and labels; must outlive the RuledGroup
  bool draining = false;             ///< by its own state or by an operator's policy
  /// The node stops, and the failover policy keeps its shards for it: they don't move.
  bool keeps = false;
};

/// A shard. A node is given by its index in the constructor's `nodes`. REQUIRES (not checked): the
/// indexes are valid.
struct RuledShard {
  ShardId shard;
  core::MemberIndex leader = core::kNobody;  ///< kNobody: a vacancy, unless it `waits`
  bool waits = false;                        ///< see AssignmentShard::waits
  std::vector<core::MemberIndex> ready;      ///< nodes that are ready standbys, in any order
};

class RuledGroup {
 public:
  /// REQUIRES (not checked): CheckPlacement accepts the placement; the nodes have distinct ids.
  RuledGroup(const Placement& placement, std::uint32_t shard_count,
             const std::vector<RuledNode>& nodes);

  /// Adds a shard. REQUIRES: the number is below shard_count (not checked), and greater than the
  /// number of the shard that was added before (checked).
  void AddShard(const RuledShard& shard);

  /// Claims the vacancies, as all nodes together would, and returns the claims. PlannedClaim::shard
  /// is an index here: NumberOf returns the shard's number. A node of RuledShard::ready gets the
  /// vacancy if it is a standby by the shard's rule. If there are several, the first in the order
  /// of core::Standbys::Of gets it.
  std::vector<core::PlannedClaim> Claim();
  /// Makes the moves of balance, at most `limit`, and returns them, urgent moves first.
  /// PlannedMove::shard is an index here, too.
  std::vector<core::PlannedMove> Balance(std::size_t limit);
  /// Returns the cause of a claim of Claim, or of a move of Balance.
  Cause CauseOf(const core::PlannedClaim& claim) const;
  Cause CauseOf(const core::PlannedMove& move) const;

  const std::vector<core::AssignmentMember>& members() const { return input_.members; }
  const std::vector<core::AssignmentShard>& shards() const { return input_.shards; }
  /// The number of the shard with this index, in the order of AddShard. REQUIRES (not checked): the
  /// index is below the number of added shards.
  ShardId NumberOf(std::size_t index) const { return number_of_[index]; }
  /// The number of the rule that counts for the shard, from 1; 0: no rule counts.
  std::uint32_t RuleOf(ShardId shard) const;
  /// The indexes of the nodes that should lead the rule's shards now. Empty: no node may begin to
  /// lead these shards. `rule`: the index of a rule, from 0. REQUIRES (not checked, also for
  /// MayStandBy): there is such a rule.
  const std::vector<core::MemberIndex>& Wanted(std::size_t rule) const { return wanted_[rule]; }
  /// How many nodes may lead or stand by for the rule's shards. These nodes fit the rule, don't
  /// drain, and have a weight above 0.
  std::size_t MayStandBy(std::size_t rule) const;
  /// Whether no node may begin to lead the shard, because of rules and weights. A draining node
  /// may, if no other node can.
  bool NobodyMayLead(ShardId shard) const;

 private:
  void SetStandbys(std::uint32_t shard_count, const std::vector<RuledNode>& nodes);
  core::MemberIndex FirstReady(const RuledShard& shard) const;
  std::vector<core::MemberIndex> WantedBy(std::size_t rule) const;
  core::Destination To(ShardId index, core::MemberIndex node) const;

  core::ShardRules rules_;
  core::Standbys standbys_;
  core::AssignmentInput input_;
  std::vector<bool> keeps_;                             // by member index
  std::vector<bool> movable_;                           // by shard index
  std::vector<const MemberFact*> facts_;                // by member index
  core::Pools pools_;                                   // with of_rule alone
  std::vector<std::vector<core::MemberIndex>> wanted_;  // by rule
  std::vector<ShardId> number_of_;
};

}  // namespace baton::app
