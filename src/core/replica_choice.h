// ReplicaChoice: which of the nodes that a placement rule allows are a shard's replicas. standbys.h
// says how they are chosen.
//
// Deterministic, without floating point: all nodes with the same view choose the same. The choice
// is part of what nodes of different versions must agree on: a change of it makes many standbys
// begin and end during an upgrade.
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
    Number number = 0;         ///< the caller's name for it; a small number
    std::uint64_t hash = 0;    ///< HashOfNode
    std::uint32_t weight = 1;  ///< above 0
    /// Which of the rule's preferences it fits first, from 0; the number of preferences if none.
    std::uint32_t tier = 0;
    std::uint32_t value = 0;  ///< a number for its value of the `spread` label
  };

  /// No nodes and no replicas.
  ReplicaChoice() = default;
  /// `nodes`: those that the rule allows, sorted by id. `replicas`: how many replicas a shard has
  /// if there are enough nodes.
  ReplicaChoice(std::vector<Node> nodes, std::uint32_t replicas);

  std::uint32_t replicas() const { return replicas_; }
  std::size_t size() const { return nodes_.size(); }
  bool Has(Number number) const {
    return number < position_.size() && position_[number] != kNowhere;
  }
  /// The work of one Choose. The unit is the work to compute one node's score.
  std::size_t Cost() const;
  /// Chooses among all nodes: at most one score for each node. Returns the replicas in their order;
  /// fewer than replicas() if there are not enough nodes. The result is valid until the next call
  /// of Choose or Add.
  std::span<const Number> Choose(ShardId shard);
  /// Adds a node to a choice: `chosen` was chosen among nodes without it, and becomes the choice
  /// among these nodes and this one. Returns whether it changed. The nodes that were not chosen
  /// don't count, because a node that comes never makes room for another one. REQUIRES:
  /// Has(number), and Has of each of `chosen`.
  bool Add(ShardId shard, Number number, std::vector<Number>& chosen);

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
  /// Nodes that differ in nothing but their hash: the score alone decides among them.
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
