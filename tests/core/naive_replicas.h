// A shard's replicas and standbys, chosen as core/standbys.h says it in words: one after another,
// each time from all nodes that are left. Only which of two nodes has the greater score is asked of
// core/replica_choice.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <tuple>
#include <vector>

#include "core/replica_choice.h"

namespace baton::core {

/// Whether the hash of shard and node puts `a` before `b`.
inline bool ScoresMore(ShardId shard, const MemberFact& a, const MemberFact& b) {
  const auto node = [](std::uint32_t number, const MemberFact& fact) {
    return ReplicaChoice::Node{
        .number = number, .hash = HashOfNode(fact.node), .weight = fact.weight};
  };
  if (b.node < a.node) return !ScoresMore(shard, b, a);
  return ReplicaChoice({node(0, a), node(1, b)}, 1).Choose(shard).front() == 0;
}

/// Whether the first node comes before the second one by their scores.
using ScoreOrder = std::function<bool(ShardId, const MemberFact&, const MemberFact&)>;

/// `nodes`: those that have a weight and don't drain. With a leader: the nodes that would be chosen
/// after it.
inline std::vector<NodeId> NaiveReplicas(const PlacementRule* rule, ShardId shard,
                                         std::vector<const MemberFact*> nodes,
                                         const MemberFact* leader = nullptr,
                                         const ScoreOrder& more = ScoresMore) {
  std::vector<NodeId> chosen;
  if (rule == nullptr || rule->standbys == 0) return chosen;
  const std::size_t wanted = rule->standbys + (leader == nullptr ? 1u : 0u);
  std::erase_if(nodes, [&](const MemberFact* node) { return !node->Fits(rule->require); });
  std::vector<const MemberFact*> replicas;
  if (leader != nullptr) {
    replicas.push_back(leader);
    std::erase_if(nodes, [&](const MemberFact* node) { return node->node == leader->node; });
  }
  const auto sharing = [&](const MemberFact& node) {
    return std::count_if(replicas.begin(), replicas.end(), [&](const MemberFact* other) {
      return other->Label(rule->spread) == node.Label(rule->spread);
    });
  };
  const auto preference = [&](const MemberFact& node) {
    std::size_t first = 0;
    while (first < rule->prefer.size() && !node.Fits(rule->prefer[first])) ++first;
    return first;
  };
  while (chosen.size() < wanted && !nodes.empty()) {
    const auto best =
        std::min_element(nodes.begin(), nodes.end(), [&](const MemberFact* a, const MemberFact* b) {
          const auto of_a = std::tuple(sharing(*a), preference(*a));
          const auto of_b = std::tuple(sharing(*b), preference(*b));
          return of_a != of_b ? of_a < of_b : more(shard, *a, *b);
        });
    chosen.push_back((*best)->node);
    replicas.push_back(*best);
    nodes.erase(best);
  }
  return chosen;
}

/// The nodes that stand by while `leader` leads the shard, in the order of the replicas. Null:
/// nobody leads it.
inline std::vector<NodeId> NaiveStandbys(const PlacementRule* rule, ShardId shard,
                                         const std::vector<const MemberFact*>& nodes,
                                         const MemberFact* leader,
                                         const ScoreOrder& more = ScoresMore) {
  const std::vector<NodeId> chosen = NaiveReplicas(rule, shard, nodes, leader, more);
  std::vector<NodeId> standbys = NaiveReplicas(rule, shard, nodes, nullptr, more);
  std::erase_if(standbys, [&](const NodeId& node) {
    return std::find(chosen.begin(), chosen.end(), node) == chosen.end();
  });
  return standbys;
}

}  // namespace baton::core
