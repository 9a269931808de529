// Standbys: which nodes stand by for which shards, by the placement rules.
//
// If a shard's rule asks for k standbys, the shard has k + 1 replicas: nodes that may begin to lead
// the shard and don't drain. If there are too few of these nodes, the shard has fewer replicas. The
// replicas have an order, which differs from shard to shard. Ready standbys take over in this
// order. The first replica is chosen, then the second, and so on. Each time, the first criterion in
// which two nodes differ decides between them:
//  1. A node comes first if its value of the rule's `spread` label is rarer among the replicas
//     chosen so far. Nodes without this label share the empty value.
//  2. A node comes first if it fits an earlier preference of the rule. Nodes that fit no preference
//     come last.
//  3. A node comes first if its score is greater. The score is a hash of shard and node (weighted
//     rendezvous hashing). By the score alone, a node is chosen in proportion to its weight. A node
//     that comes or goes moves no shard between two other nodes.
//
// The replicas don't depend on who leads. But the shard's leader decides which replicas stand by:
//  - Nobody leads: all replicas stand by.
//  - The leader is a replica: all other replicas stand by.
//  - The leader is no replica, and there are at most k replicas: all replicas stand by.
//  - The leader is no replica, and there are k + 1 replicas: one does not stand by. It is the last
//    one if the leader counts as the first replica with its `spread` value. So the nodes stand by
//    that would be chosen after the leader.
//
// So a change of the leader makes at most one node begin to stand by. A node that comes or goes
// changes no more standbys elsewhere than it has itself, and one for each shard that it leads.
//
// Deterministic, without floating point: once settled(), all nodes with the same view agree. Nodes
// with different views may disagree. That does no harm: a standby has no right to lead.
// Single-threaded: owned by a View.
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
  /// The argument `most` of Update and Continue in a loop that must not be held up.
  static constexpr std::size_t kScoresAtOnce = 4'000'000;
  /// The argument `most` for a step that has merged `facts` facts into a view. A fact costs as much
  /// time as 50 scores. From 80,000 facts on, the result is 0.
  static constexpr std::size_t AtOnceBeside(std::size_t facts) {
    constexpr std::size_t kCostOfFact = 50;  // in scores
    return facts < kScoresAtOnce / kCostOfFact ? kScoresAtOnce - facts * kCostOfFact : 0;
  }
  static constexpr std::size_t kAllAtOnce = std::numeric_limits<std::size_t>::max();

  /// Takes the present rules and nodes, and copies what it needs of them. `nodes`: the nodes that
  /// may begin to lead and don't drain. REQUIRES (not checked): the nodes' ids are distinct, and
  /// ShardRules::Set got the same `shards`.
  ///
  /// Returns these shards, sorted, each once:
  ///  - Shards whose replicas changed.
  ///  - Shards whose rule changed in `standbys`, `spread`, `require` or `prefer`, if the old or the
  ///    new rule asks for standbys.
  ///  - Shards with a replica whose labels, zone or weight changed.
  ///  - All shards of the Update before this one, if the rules changed and no rule asks for
  ///  standbys any more.
  ///
  /// If a leader that is no replica changes its labels or zone, the result of Of() may change for
  /// its shards. Update does not return these shards.
  ///
  /// If the replicas of a shard have to be chosen again, this costs a score for each node. After
  /// about `most` scores, the remaining shards wait for Continue. A shard that waits keeps the
  /// replicas that are still allowed. Beside these scores, each node that came or changed costs a
  /// few scores a shard. Without rules that ask for standbys, Update costs next to nothing. Once
  /// settled(), the replicas depend only on the present rules and nodes.
  std::vector<ShardId> Update(const ShardRules& rules, std::uint32_t shards,
                              const std::vector<const MemberFact*>& nodes,
                              std::size_t most = kAllAtOnce);
  /// Chooses the replicas of shards that wait, with about `most` scores; does nothing if `most` is
  /// 0. Returns the shards whose replicas changed, sorted.
  std::vector<ShardId> Continue(std::size_t most);
  /// Whether no shard waits.
  bool settled() const { return waiting_ == 0; }
  /// Whether no rule asks for standbys; true before the first Update.
  bool empty() const { return stride_ == 0; }
  /// How many standbys the shard's rule asks for. All questions from here on REQUIRE a shard below
  /// the last Update's `shards`. If some rule asks for standbys, this function throws
  /// std::out_of_range for another shard, and the functions below abort (BATON_CHECK).
  std::uint32_t Wanted(ShardId shard) const;
  /// The shard's replicas, in their order. Their number is Wanted(shard) + 1, or less if there are
  /// not enough nodes or the shard waits. Empty if Wanted(shard) is 0.
  std::vector<NodeId> ReplicasOf(ShardId shard) const;
  /// The nodes that stand by for the shard while `leader` leads it, in the order of the replicas.
  /// Null: nobody leads the shard.
  std::vector<NodeId> Of(ShardId shard, const MemberFact* leader) const;
  /// Whether Of(shard, leader) has `node`; faster than Of. Returns false, without a check of the
  /// shard, for a node that the last Update's `nodes` did not have.
  bool StandsBy(ShardId shard, const MemberFact* leader, const NodeId& node) const;

 private:
  using Number = ReplicaChoice::Number;  ///< of a node in nodes_
  static constexpr Number kFree = std::numeric_limits<Number>::max();
  /// The nodes that came, changed or left. `came` also has the nodes whose labels, zone or weight
  /// changed.
  struct Arrivals {
    std::vector<Number> came;
    std::vector<std::vector<Number>> came_by_rule;  ///< by rule: those of `came` that it allows
    std::vector<bool> changed;                      ///< by number; true for nodes that left, too
    std::vector<bool> left;                         ///< by number
    bool any = false;
  };

  bool TakeRules(const ShardRules& rules, std::uint32_t shards, std::vector<ShardId>& changed);
  void Reshape(std::uint32_t shards, std::size_t stride);
  Arrivals TakeNodes(const std::vector<const MemberFact*>& nodes);
  void SetChoices(Arrivals& arrivals);
  ReplicaChoice ChoiceOf(const PlacementRule& rule) const;
  /// Adds the nodes that came to the shard's replicas, or lets the shard wait. Returns whether
  /// Update must return the shard.
  bool Take(ShardId shard, const Arrivals& arrivals);
  bool Prune(ShardId shard, const Arrivals& arrivals);
  void Wait(ShardId shard);
  bool SetReplicas(ShardId shard, std::span<const Number> replicas);
  ReplicaChoice* ChoiceFor(ShardId shard);
  std::span<const Number> NumbersOf(ShardId shard) const;
  /// The replica that does not stand by while `leader` leads; kFree: all replicas stand by.
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
