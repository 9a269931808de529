// RuledGroup: a group with placement rules, as the assignment reads it. It tells what the group
// would do: claim the vacancies, and then move what balance moves.
//
// It calls the same functions as the nodes (core/pools.h, core/assignment.h, core/causes.h,
// core/standbys.h), as if all claims and moves could begin at once. `placement check`, `rebalance
// simulate` and `plan` use it.
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
  const MemberFact* fact = nullptr;  ///< its id, weight and labels; outlives the RuledGroup
  bool draining = false;             ///< by its own state or by an operator's policy
  /// It stops, and the failover policy keeps its shards for it: none of them moves.
  bool keeps = false;
};

/// A shard. Nodes are indexes into those of the group.
struct RuledShard {
  ShardId shard;
  core::MemberIndex leader = core::kNobody;  ///< kNobody: a vacancy, unless it `waits`
  bool waits = false;                        ///< see AssignmentShard::waits
  std::vector<core::MemberIndex> ready;      ///< nodes that are ready standbys, in any order
};

class RuledGroup {
 public:
  /// REQUIRES: CheckPlacement(placement); the nodes have distinct ids.
  RuledGroup(const Placement& placement, std::uint32_t shard_count,
             const std::vector<RuledNode>& nodes);

  /// Adds a shard. REQUIRES: its number is below shard_count, and (checked) greater than those of
  /// all shards that were added before.
  void AddShard(const RuledShard& shard);

  /// Claims the vacancies, as all nodes would together, and returns the claims. PlannedClaim::shard
  /// is an index here: see NumberOf. If some of a vacancy's RuledShard::ready are standbys by its
  /// rule (core/standbys.h), the first of these in the order of its replicas claims it.
  std::vector<core::PlannedClaim> Claim();
  /// Carries out what balance would move, at most `limit` moves, and returns the moves, urgent ones
  /// first. PlannedMove::shard is an index here, too.
  std::vector<core::PlannedMove> Balance(std::size_t limit);
  /// Why a claim of Claim, or a move of Balance, was made.
  Cause CauseOf(const core::PlannedClaim& claim) const;
  Cause CauseOf(const core::PlannedMove& move) const;

  const std::vector<core::AssignmentMember>& members() const { return input_.members; }
  const std::vector<core::AssignmentShard>& shards() const { return input_.shards; }
  /// The number of the shard with this index. REQUIRES (not checked): the index is below the number
  /// of added shards.
  ShardId NumberOf(std::size_t index) const { return number_of_[index]; }
  /// The number of the rule that counts for the shard, from 1; 0: no rule does.
  std::uint32_t RuleOf(ShardId shard) const;
  /// The nodes that should lead the rule's shards now, by index. Empty: nobody may. `rule` is from
  /// 0.
  const std::vector<core::MemberIndex>& Wanted(std::size_t rule) const { return wanted_[rule]; }
  /// How many nodes may lead or stand by for the rule's shards: those that fit it, don't drain, and
  /// have a weight above 0. `rule` is from 0.
  std::size_t MayStandBy(std::size_t rule) const;
  /// Whether no node of the group may begin to lead the shard, by the rules, weights and drains.
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
