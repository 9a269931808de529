#include "sim/replica_oracle.h"

#include <algorithm>
#include <utility>

#include "core/naive_replicas.h"

namespace baton::sim {
namespace {

// The first rule that names a shard counts for it. Null: none does.
const PlacementRule* RuleOf(const Placement& placement, ShardId shard) {
  const auto rule = std::find_if(placement.begin(), placement.end(),
                                 [&](const PlacementRule& each) { return each.CountsFor(shard); });
  return rule != placement.end() ? &*rule : nullptr;
}

}  // namespace

std::vector<const MemberFact*> ReplicaOracle::MayStandBy(const core::View& truth,
                                                         const NodeId& without) {
  std::vector<const MemberFact*> nodes;
  for (const auto& [node, member] : truth.members()) {
    const bool may = member.Live() && member.weight > 0 && !truth.Draining(member);
    if (may && node != without) nodes.push_back(&member);
  }
  return nodes;
}

bool ReplicaOracle::ScoresMore(ShardId shard, const MemberFact& a, const MemberFact& b) const {
  const Pair pair{{a.node, a.weight}, {b.node, b.weight}};
  const auto [found, first] = scores_more_.try_emplace({shard, pair}, false);
  if (first) found->second = core::ScoresMore(shard, a, b);
  return found->second;
}

const ReplicaOracle::ByShard& ReplicaOracle::Replicas(const core::View& truth,
                                                      const NodeId& without) const {
  const std::vector<const MemberFact*> may = MayStandBy(truth, without);
  std::vector<Node> nodes;
  for (const MemberFact* member : may) {
    nodes.push_back({member->node, member->zone, member->labels, member->weight});
  }
  const Placement& placement = truth.rules().placement();
  const bool known =
      replicas_.size() == truth.shard_count() && nodes == nodes_ && placement == placement_;
  if (known) return replicas_;
  nodes_ = std::move(nodes);
  placement_ = placement;
  replicas_.clear();
  const auto more = [this](ShardId shard, const MemberFact& a, const MemberFact& b) {
    return ScoresMore(shard, a, b);
  };
  for (std::uint32_t s = 0; s < truth.shard_count(); ++s) {
    const ShardId shard{s};
    replicas_.push_back(core::NaiveReplicas(RuleOf(placement, shard), shard, may, nullptr, more));
  }
  return replicas_;
}

ReplicaOracle::ByShard ReplicaOracle::Standbys(const core::View& truth) const {
  const std::vector<const MemberFact*> may = MayStandBy(truth);
  const auto more = [this](ShardId shard, const MemberFact& a, const MemberFact& b) {
    return ScoresMore(shard, a, b);
  };
  ByShard standbys;
  for (std::uint32_t s = 0; s < truth.shard_count(); ++s) {
    const ShardId shard{s};
    const PlacementRule* const rule = RuleOf(truth.rules().placement(), shard);
    standbys.push_back(core::NaiveStandbys(rule, shard, may, truth.LeaderOf(shard), more));
  }
  return standbys;
}

}  // namespace baton::sim
