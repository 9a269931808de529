// Standbys: which nodes stand by for which shards, by the placement rules.
//
// If a shard's rule asks for k standbys, the shard has k + 1 replicas. These are nodes that may
// begin to lead the shard, in an order that differs from shard to shard. One replica after another
// is chosen from the nodes that are left. The first of these criteria in which two nodes differ
// decides which of them comes first:
//  1. The node whose value of the rule's `spread` label is rarer among the replicas chosen so far.
//     Nodes without this label share the empty value.
//  2. The node that fits an earlier preference of the rule. Nodes that fit none come last.
//  3. The node with the greater score. The score is a hash of shard and node (weighted rendezvous
//     hashing). So a node's part is about in proportion to its weight, and a node that comes or
//     goes moves no shard between two other nodes.
//
// The replicas don't depend on who leads. The standbys of a shard are its replicas without its
// leader. If the leader is no replica, and the shard has k + 1 replicas, one replica does not stand
// by: the last one with the leader's `spread` value or, if there is none, the last of all. So a
// change of leader makes at most one node begin to stand by. While nobody leads, all
// replicas stand by.
//
// The order of the replicas is the order in which ready standbys take over.
//
// Deterministic, without floating point: once settled(), all nodes with the same view agree. Nodes
// with different views may disagree. That does no harm: standing by gives a node no right to lead.
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
  /// How many scores Update and Continue may compute at once if the loop must not be held up.
  static constexpr std::size_t kScoresAtOnce = 4'000'000;
  /// The same in a step that also merges `facts` facts into a view. A fact takes as long as 50
  /// scores, so the result is 0 from 80,000 facts on.
  static constexpr std::size_t AtOnceBeside(std::size_t facts) {
    constexpr std::size_t kCostOfFact = 50;  // in scores
    return facts < kScoresAtOnce / kCostOfFact ? kScoresAtOnce - facts * kCostOfFact : 0;
  }
  static constexpr std::size_t kAllAtOnce = std::numeric_limits<std::size_t>::max();

  /// Takes the rules and the nodes as they are now, and copies what it needs of them. `nodes` are
  /// those that may begin to lead and don't drain. REQUIRES (not checked): their ids are distinct,
  /// and ShardRules::Set got the same `shards`.
  ///
  /// Returns these shards, sorted, each once:
  ///  - Those whose replicas changed, or whose rule changed in a way that matters here.
  ///  - Those with a replica whose labels, zone or weight changed, because `Of()` may then return
  ///    other nodes.
  ///  - All shards of the last Update, if no rule asks for standbys any more.
  ///
  /// The result of `Of()` also depends on the labels and the zone of a leader that is no replica.
  /// The caller has to note a change of these.
  ///
  /// Costs next to nothing without rules about standbys. A node that came costs a few scores a
  /// shard, and `most` does not limit these. A node whose labels, zone or weight changed costs as
  /// much as a node that came. A shard is chosen again, with a score for each node, in these cases:
  ///  - The shard lost a replica, or a replica's labels, zone or weight changed.
  ///  - The shard's rule changed in a way that matters here.
  ///  - Many nodes came or changed: more than 8, or more than an eighth of those that the rule
  ///    allows.
  ///
  /// `most` limits the scores of the shards that are chosen again. After about `most` scores, the
  /// rest of these shards wait for Continue. A shard that waits keeps those of its replicas that
  /// are still allowed. Once settled(), the replicas depend only on the present rules and nodes.
  std::vector<ShardId> Update(const ShardRules& rules, std::uint32_t shards,
                              const std::vector<const MemberFact*>& nodes,
                              std::size_t most = kAllAtOnce);
  /// Goes on with the shards that wait, for about `most` scores; for 0 it does nothing. Returns
  /// those whose replicas changed, sorted.
  std::vector<ShardId> Continue(std::size_t most);
  /// Whether no shard waits.
  bool settled() const { return waiting_ == 0; }
  /// Whether no rule asks for standbys; true before the first Update.
  bool empty() const { return stride_ == 0; }
  /// How many standbys the shard's rule asks for. REQUIRES, here and below: the shard is below the
  /// last Update's `shards`. Not checked if no rule asks for standbys. Otherwise Wanted throws
  /// std::out_of_range for another shard, and the methods below abort (BATON_CHECK).
  std::uint32_t Wanted(ShardId shard) const;
  /// The shard's replicas, in their order: Wanted(shard) + 1, or fewer if there are not enough
  /// nodes or the shard waits. Empty if Wanted(shard) is 0.
  std::vector<NodeId> ReplicasOf(ShardId shard) const;
  /// The nodes that stand by for the shard while `leader` leads it, in the order of the replicas.
  /// `leader` null: nobody leads the shard.
  std::vector<NodeId> Of(ShardId shard, const MemberFact* leader) const;
  /// Whether Of(shard, leader) has `node`. Faster than Of. False for a node that was not among the
  /// last Update's `nodes`, without a check of the shard.
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
