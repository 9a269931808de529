// ReplicaOracle: which nodes stand by for which shards, by the members, rules and policies that
// etcd has. It shares the scores (core/replica_choice.h) with core/standbys.h,
// and nothing else: the choice is that of tests/core/naive_replicas.h. It keeps its last answer,
// because it is asked again and again while nothing has changed.
//
// For one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/view.h"

namespace baton::sim {

class ReplicaOracle {
 public:
  using ByShard = std::vector<std::vector<NodeId>>;

  /// The nodes that may stand by, sorted by id: they live, have a weight and don't drain. `without`
  /// counts as gone.
  static std::vector<const MemberFact*> MayStandBy(const core::View& truth,
                                                   const NodeId& without = {});
  /// By shard: the nodes that stand by if nobody leads it, in their order, as if `without` were
  /// gone. Valid until the next call.
  const ByShard& Replicas(const core::View& truth, const NodeId& without = {}) const;
  /// By shard: the nodes that stand by while its present leader leads it.
  ByShard Standbys(const core::View& truth) const;

 private:
  /// The part of a member that decides.
  struct Node {
    NodeId id;
    std::string zone;
    Labels labels;
    std::uint32_t weight = 0;
    friend bool operator==(const Node&, const Node&) = default;
  };
  using Weighted = std::pair<NodeId, std::uint32_t>;
  using Pair = std::pair<Weighted, Weighted>;

  bool ScoresMore(ShardId shard, const MemberFact& a, const MemberFact& b) const;

  // What was computed last, and from what. Nothing else changes here.
  mutable std::vector<Node> nodes_;
  mutable Placement placement_;
  mutable ByShard replicas_;
  /// By shard and pair of nodes: whether the first one scores more. A score never changes.
  mutable std::map<std::pair<ShardId, Pair>, bool> scores_more_;
};

}  // namespace baton::sim
