// Standbys: which nodes stand by for which shards, by the placement rules.
//
// If a shard's rule asks for k standbys, the shard has k + 1 replicas: nodes that may begin to lead
// it, in an order of its own. Each next replica is chosen from the nodes that are left. The first
// of these rules that tells two nodes apart decides:
//  1. The node whose value of the rule's `spread` label fewer chosen replicas have comes first.
//  2. The node that fits an earlier preference of the rule comes first.
//  3. The node with the greater score comes first. The score is a hash of shard and node, so that
//     each node gets a part by its weight, and a node that comes or goes changes no other node's
//     part (weighted rendezvous hashing).
//
// The replicas don't depend on who leads. The standbys of a shard are its replicas without its
// leader. If the leader is no replica, one replica has nothing to do: the last one that shares the
// leader's `spread` value, or else the last one. So a change of leader makes at most one other node
// begin to stand by. While nobody leads, all k + 1 replicas stand by: those that did go on.
//
// The order of the replicas is the order in which ready standbys take over.
//
// Deterministic, without floating point: all nodes with the same view agree. Nodes with different
// views may disagree, which does no harm: nobody leads because it stands by. Single-threaded: owned
// by a View.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/facts.h"
#include "core/shard_rules.h"

namespace baton::core {

class Standbys {
 public:
  /// Takes the rules and the nodes as they are now. `nodes` are those that may begin to lead and
  /// don't drain, with distinct ids, sorted by id. Returns the shards whose replicas changed,
  /// sorted. Costs O(shards x replicas) for each node that came or went, and nothing without rules
  /// about standbys. The result does not depend on what the nodes were before.
  std::vector<ShardId> Update(const ShardRules& rules, std::uint32_t shards,
                              const std::vector<const MemberFact*>& nodes);
  /// Whether no rule asks for standbys.
  bool empty() const { return stride_ == 0; }
  /// How many standbys the shard's rule asks for. REQUIRES (checked, also by the questions below):
  /// the shard is below the last Update's `shards`.
  std::uint32_t Wanted(ShardId shard) const;
  /// The shard's replicas, in their order: Wanted(shard) + 1, or fewer if there are not enough
  /// nodes. Empty if its rule asks for no standbys.
  std::vector<NodeId> ReplicasOf(ShardId shard) const;
  /// The nodes that stand by for the shard while `leader` leads it, in the order of the replicas.
  /// Null: nobody leads it.
  std::vector<NodeId> Of(ShardId shard, const MemberFact* leader) const;
  /// Whether `node` is one of these. Faster than Of.
  bool StandsBy(ShardId shard, const MemberFact* leader, const NodeId& node) const;

 private:
  using Number = std::uint32_t;  ///< of a node in nodes_
  static constexpr Number kFree = std::numeric_limits<Number>::max();
  struct Node {
    MemberFact fact;  ///< only what choosing a replica needs: see Copy
    std::uint64_t hash = 0;
  };
  /// What one rule says of each node.
  struct Pool {
    std::uint32_t replicas = 0;        ///< 0: the rule asks for no standbys
    bool weighted = false;             ///< its nodes differ in weight
    std::vector<std::uint32_t> tier;   ///< by node: the preference that it fits first
    std::vector<std::uint32_t> value;  ///< by node: a number for its value of the `spread` label
    std::vector<bool> allowed;         ///< by node
    std::vector<Number> nodes;         ///< the allowed ones
  };

  struct Arrivals {
    std::vector<Number> came;
    std::vector<bool> gone;  ///< by number
  };

  bool TakeRules(const ShardRules& rules, std::uint32_t shards);
  Arrivals TakeNodes(const std::vector<const MemberFact*>& nodes);
  Pool PoolOf(const PlacementRule& rule) const;
  bool ChooseAgain(ShardId shard, const Arrivals& arrivals, bool all);
  bool Better(const Pool& pool, ShardId shard, Number a, Number b) const;
  void Choose(const Pool& pool, ShardId shard, std::vector<Number> from,
              std::vector<Number>& chosen) const;
  std::span<const Number> NumbersOf(ShardId shard) const;
  /// The replica that does not stand by while `leader` leads; kFree: all do.
  Number IdleReplica(ShardId shard, const MemberFact* leader) const;

  Placement placement_;
  std::vector<std::uint8_t> rule_of_;  ///< by shard; placement_.size(): no rule
  std::size_t stride_ = 0;             ///< slots of a shard
  std::vector<Number> slots_;          ///< by shard: its replicas, then kFree
  std::vector<Node> nodes_;            ///< by number; with an empty id: a free number
  std::map<NodeId, Number> numbers_;
  std::vector<Pool> pools_;  ///< by rule
};

}  // namespace baton::core
