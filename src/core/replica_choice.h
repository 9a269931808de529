// ReplicaChoice: chooses a shard's replicas among the nodes that a placement rule allows.
// standbys.h has the rules of this choice.
//
// Deterministic, without floating point: all nodes with the same view choose the same replicas.
// Nodes of different versions must do so, too, so that an upgrade changes no standbys.
//
// Pure and single-threaded: owned by Standbys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/facts.h"

namespace baton::core {

/// A node's id as a number, the same on every node and machine.
std::uint64_t HashOfNode(const NodeId& id);

class ReplicaChoice {
 public:
  using Number = std::uint32_t;
  struct Node {
    Number number = 0;         ///< the caller's; memory grows with the greatest number
    std::uint64_t hash = 0;    ///< HashOfNode
    std::uint32_t weight = 1;  ///< above 0
    /// The number, from 0, of the rule's first preference that the node fits. If the node fits no
    /// preference: how many preferences the rule has.
    std::uint32_t tier = 0;
    std::uint32_t value = 0;  ///< a number for the node's value of the `spread` label
  };

  /// No nodes and no replicas.
  ReplicaChoice() = default;
  /// `nodes`: the nodes that the rule allows, sorted by id. `replicas`: how many replicas a shard
  /// has if there are enough nodes. REQUIRES (not checked): the nodes' numbers are distinct, and
  /// `replicas` is above 0.
  ReplicaChoice(std::vector<Node> nodes, std::uint32_t replicas);

  std::uint32_t replicas() const { return replicas_; }
  std::size_t size() const { return nodes_.size(); }
  bool Has(Number number) const {
    return number < position_.size() && position_[number] != kNowhere;
  }
  /// The work of one Choose, in units of the work for one node's score.
  std::size_t Cost() const;
  /// Chooses among all nodes. Computes at most one score for each node. Returns the replicas in
  /// their order. If there are not enough nodes, returns fewer than replicas(). The result is valid
  /// until the next call of Choose or Add.
  std::span<const Number> Choose(ShardId shard);
  /// Adds the node `number` to an earlier choice for the shard. `chosen` was chosen without this
  /// node, and becomes the choice with this node. Returns whether `chosen` changed. Computes the
  /// scores of this node and of `chosen`, but no others. REQUIRES: Has(number), and Has of each of
  /// `chosen` (checked for those that are compared). REQUIRES (not checked): `chosen` has at most
  /// replicas() nodes, in their order, without `number`.
  bool Add(ShardId shard, Number number, std::vector<Number>& chosen);
  /// Whether `a` comes before `b` for the shard, without regard to `spread`. REQUIRES
  /// (checked): Has of both.
  bool Before(ShardId shard, Number a, Number b) const {
    return Before(ScoreOf(shard, a), ScoreOf(shard, b));
  }

 private:
  static constexpr std::uint32_t kNowhere = ~std::uint32_t{0};
  struct Scored {
    std::uint64_t score = 0;
    std::uint32_t position = 0;
  };
  struct Ranked {
    Scored scored;
    std::uint32_t rank = 0;  ///< how many nodes of its own value come before it
  };
  /// Nodes that differ in their hash alone, so the score alone decides among them.
  struct Run {
    std::size_t begin = 0;  ///< positions
    std::size_t end = 0;
  };
  /// The runs of one value, the first preference first.
  struct Bin {
    std::size_t begin = 0;  ///< numbers of runs
    std::size_t end = 0;
  };

  Scored ScoreOf(ShardId shard, Number number) const;
  std::uint32_t ValueOf(const Scored& scored) const { return nodes_[scored.position].value; }
  bool Before(const Scored& a, const Scored& b) const;
  bool Before(const Ranked& a, const Ranked& b) const;
  void Gather(const Run& run, ShardId shard);
  void Fill(const Bin& bin, ShardId shard);
  void Keep(const Scored& scored);
  void Insert(const Ranked& added, std::vector<Ranked>& ranked) const;

  std::uint32_t replicas_ = 0;
  std::size_t depth_ = 0;                ///< how many nodes of one value can be replicas of a shard
  std::vector<Node> nodes_;              ///< by position: bin by bin, run by run, by id
  std::vector<std::uint64_t> hashes_;    ///< by position
  std::vector<std::uint32_t> order_;     ///< by position: its place in the order of the ids
  std::vector<std::uint32_t> position_;  ///< by number
  std::vector<Run> runs_;
  std::vector<Bin> bins_;  ///< by value

  // Kept from call to call, so that nothing is allocated for a shard.
  std::vector<Scored> of_run_;
  std::vector<Scored> best_;
  std::vector<Ranked> ranked_;
  std::vector<Number> chosen_;
};

}  // namespace baton::core
