#include "app/ctl/ruled_group.h"

#include <algorithm>

#include "base/check.h"
#include "core/may_claim.h"

namespace baton::app {
namespace {

using core::AssignmentPool;
using core::Eligibility;
using core::MemberIndex;

Eligibility EligibilityOfMember(const core::AssignmentMember& member) {
  return core::EligibilityOf(member.weight, member.draining);
}

}  // namespace

RuledGroup::RuledGroup(const Placement& placement, std::uint32_t shard_count,
                       const std::vector<RuledNode>& nodes) {
  rules_.Set(placement, shard_count);
  for (const RuledNode& node : nodes) {
    input_.members.push_back(
        {.id = node.fact->node, .weight = node.fact->weight, .draining = node.draining});
    facts_.push_back(node.fact);
    keeps_.push_back(node.keeps);
  }
  pools_ = core::PoolsFor(placement, input_.members, facts_);
  input_.pools = pools_.pools;
  for (std::size_t r = 0; r < placement.size(); ++r) wanted_.push_back(WantedBy(r));
  SetStandbys(shard_count, nodes);
}

void RuledGroup::SetStandbys(std::uint32_t shard_count, const std::vector<RuledNode>& nodes) {
  std::vector<const MemberFact*> may_begin;
  for (MemberIndex m = 0; m < nodes.size(); ++m) {
    if (EligibilityOfMember(input_.members[m]) == Eligibility::kYes) {
      may_begin.push_back(nodes[m].fact);
    }
  }
  std::sort(may_begin.begin(), may_begin.end(),
            [](const MemberFact* a, const MemberFact* b) { return a->node < b->node; });
  standbys_.Update(rules_, shard_count, may_begin);
}

// The node that takes over a vacancy because it is ready; kNobody: none is.
MemberIndex RuledGroup::FirstReady(const RuledShard& shard) const {
  if (shard.ready.empty()) return core::kNobody;
  for (const NodeId& standby : standbys_.Of(shard.shard, nullptr)) {
    const auto found = std::find_if(shard.ready.begin(), shard.ready.end(), [&](MemberIndex node) {
      return input_.members[node].id == standby;
    });
    if (found != shard.ready.end()) return *found;
  }
  return core::kNobody;
}

std::vector<MemberIndex> RuledGroup::WantedBy(std::size_t rule) const {
  const std::uint32_t pool = pools_.of_rule[rule];
  const bool some = std::any_of(
      input_.members.begin(), input_.members.end(),
      [](const auto& member) { return EligibilityOfMember(member) == Eligibility::kYes; });
  const Eligibility all = some ? Eligibility::kYes : Eligibility::kLastResort;
  std::vector<MemberIndex> wanted;
  for (MemberIndex m = 0; m < input_.members.size(); ++m) {
    const bool is_wanted =
        pool == 0 ? EligibilityOfMember(input_.members[m]) == all
                  : input_.pools[pool - 1].members[m] == AssignmentPool::Place::kWanted;
    if (is_wanted) wanted.push_back(m);
  }
  return wanted;
}

void RuledGroup::AddShard(const RuledShard& shard) {
  BATON_CHECK(number_of_.empty() || number_of_.back() < shard.shard);
  core::AssignmentShard entry{.leader = shard.leader, .waits = shard.waits};
  const std::uint32_t rule = RuleOf(shard.shard);
  if (rule > 0) entry.pool = pools_.of_rule[rule - 1];
  if (entry.vacant()) entry.standby = FirstReady(shard);
  input_.shards.push_back(entry);
  movable_.push_back(shard.leader == core::kNobody || !keeps_[shard.leader]);
  number_of_.push_back(shard.shard);
}

std::vector<core::PlannedClaim> RuledGroup::Claim() {
  std::vector<core::PlannedClaim> claims = core::Assign(input_).claims;
  for (const core::PlannedClaim& claim : claims) {
    input_.shards[claim.shard.value].leader = claim.to;
  }
  return claims;
}

std::vector<core::PlannedMove> RuledGroup::Balance(std::size_t limit) {
  std::vector<core::PlannedMove> moves = core::PlanMoves(input_, movable_, limit);
  for (const core::PlannedMove& move : moves) input_.shards[move.shard.value].leader = move.to;
  return moves;
}

core::Destination RuledGroup::To(ShardId index, MemberIndex node) const {
  return {rules_, NumberOf(index.value), *facts_[node]};
}

Cause RuledGroup::CauseOf(const core::PlannedClaim& claim) const {
  return core::CauseOf(input_, claim, To(claim.shard, claim.to));
}

Cause RuledGroup::CauseOf(const core::PlannedMove& move) const {
  return core::CauseOf(input_, move, To(move.shard, move.to));
}

std::uint32_t RuledGroup::RuleOf(ShardId shard) const {
  const std::size_t rule = rules_.NumberOf(shard);
  return rule < rules_.size() ? static_cast<std::uint32_t>(rule + 1) : 0;
}

std::size_t RuledGroup::MayStandBy(std::size_t rule) const {
  const std::uint32_t pool = pools_.of_rule[rule];
  std::size_t count = 0;
  for (MemberIndex m = 0; m < input_.members.size(); ++m) {
    const bool fits =
        pool == 0 || input_.pools[pool - 1].members[m] != AssignmentPool::Place::kForbidden;
    if (fits && EligibilityOfMember(input_.members[m]) == Eligibility::kYes) ++count;
  }
  return count;
}

bool RuledGroup::NobodyMayLead(ShardId shard) const {
  const std::uint32_t rule = RuleOf(shard);
  if (rule > 0) return wanted_[rule - 1].empty();
  return std::all_of(input_.members.begin(), input_.members.end(), [](const auto& member) {
    return EligibilityOfMember(member) == Eligibility::kNever;
  });
}

}  // namespace baton::app
