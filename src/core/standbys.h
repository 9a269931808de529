// Standbys: which nodes stand by for which shards, by the placement rules.
//
// If a shard's rule asks for k standbys, the shard has k + 1 replicas. These are nodes that may
// begin to lead it, in an order that differs from shard to shard. Each next replica is chosen from
// the nodes that are left. The first of these rules that tells two nodes apart decides:
//  1. A node comes first if fewer of the chosen replicas have the same value of the rule's `spread`
//     label.
//  2. The node that fits an earlier preference of the rule comes first.
//  3. The node with the greater score comes first. The score is a hash of shard and node (weighted
//     rendezvous hashing). So each node gets a part by its weight, and a node that comes or goes
//     moves no shard between two other nodes.
//
// The replicas don't depend on who leads. The standbys of a shard are its replicas without its
// leader. If the leader is no replica, and there are enough nodes for k + 1 replicas, one replica
// has nothing to do. It is the last one that shares the leader's `spread` value; if none shares it,
// the last one of all. So a change of leader makes at most one other node begin to stand by. While
// nobody leads, all replicas stand by.
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
#include "core/replica_choice.h"
#include "core/shard_rules.h"

namespace baton::core {

class Standbys {
 public:
  /// How many scores Update and Continue may compute at once if the loop must not be held up.
  static constexpr std::size_t kScoresAtOnce = 4'000'000;
  /// The same in a turn that also merges this many facts into a view.
  static constexpr std::size_t AtOnceBeside(std::size_t facts) {
    constexpr std::size_t kCostOfFact = 50;  // in scores
    return facts < kScoresAtOnce / kCostOfFact ? kScoresAtOnce - facts * kCostOfFact : 0;
  }
  static constexpr std::size_t kAllAtOnce = std::numeric_limits<std::size_t>::max();

  /// Takes the rules and the nodes as they are now, and copies what it needs of them. `nodes` are
  /// those that may begin to lead and don't drain, with distinct ids, sorted by id. Returns the
  /// shards whose replicas or rule about standbys changed, sorted. Returns also the shards of a
  /// replica whose labels, zone or weight changed, because Of may then give other nodes. Of also
  /// depends on the labels of a leader that is no replica; the caller has to note a change of
  /// these.
  ///
  /// Costs nothing without rules about standbys. A node that came costs a few scores a shard. All
  /// nodes are scored for a shard in these cases: it lost a replica, its rule changed in what
  /// matters here, or many nodes came. After about `most` scores the other shards of this kind wait
  /// for Continue. Until then such a shard keeps those of its replicas that are still allowed. Once
  /// settled(), the replicas depend only on the present rules and nodes.
  std::vector<ShardId> Update(const ShardRules& rules, std::uint32_t shards,
                              const std::vector<const MemberFact*>& nodes,
                              std::size_t most = kAllAtOnce);
  /// Goes on with the shards that wait, for about `most` scores. Returns those whose replicas
  /// changed, sorted.
  std::vector<ShardId> Continue(std::size_t most);
  /// Whether no shard waits.
  bool settled() const { return waiting_ == 0; }
  /// Whether no rule asks for standbys.
  bool empty() const { return stride_ == 0; }
  /// How many standbys the shard's rule asks for. REQUIRES (here and below; checked if a rule asks
  /// for standbys): the shard is below the last Update's `shards`.
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
  using Number = ReplicaChoice::Number;  ///< of a node in nodes_
  static constexpr Number kFree = std::numeric_limits<Number>::max();
  /// Says which nodes changed. A node that changed in what matters has come, too.
  struct Arrivals {
    std::vector<Number> came;
    std::vector<std::vector<Number>> came_by_rule;  ///< those of `came` that each rule allows
    std::vector<bool> changed;                      ///< by number; those that left, too
    std::vector<bool> left;                         ///< by number
    bool any = false;
  };

  bool TakeRules(const ShardRules& rules, std::uint32_t shards, std::vector<ShardId>& changed);
  void Reshape(std::uint32_t shards, std::size_t stride);
  Arrivals TakeNodes(const std::vector<const MemberFact*>& nodes);
  void SetChoices(Arrivals& arrivals);
  ReplicaChoice ChoiceOf(const PlacementRule& rule) const;
  /// Adds the nodes that came to the shard's replicas, or lets the shard wait. Returns whether its
  /// replicas changed.
  bool Take(ShardId shard, const Arrivals& arrivals);
  bool Prune(ShardId shard, const Arrivals& arrivals);
  void Wait(ShardId shard);
  bool SetReplicas(ShardId shard, std::span<const Number> replicas);
  ReplicaChoice* ChoiceFor(ShardId shard);
  std::span<const Number> NumbersOf(ShardId shard) const;
  /// The replica that does not stand by while `leader` leads; kFree: all do.
  Number IdleReplica(ShardId shard, const MemberFact* leader) const;

  Placement placement_;
  std::vector<std::uint8_t> rule_of_;  ///< by shard; placement_.size(): no rule
  std::size_t stride_ = 0;             ///< slots of a shard
  std::vector<Number> slots_;          ///< by shard: its replicas, then kFree
  std::vector<MemberFact> nodes_;      ///< by number, only what decides; empty id: a free number
  std::map<NodeId, Number> numbers_;
  std::vector<ReplicaChoice> choices_;  ///< by rule
  std::vector<bool> waits_;             ///< by shard
  std::size_t waiting_ = 0;             ///< how many shards wait
  std::uint32_t next_ = 0;              ///< the shard at which Continue goes on
  std::vector<Number> scratch_;
};

}  // namespace baton::core
