// LeaderIndex: which node each shard's record names as the leader, and which shards' records name a
// given node. Fast even for a hundred thousand shards.
//
// Nodes have numbers here. A node loses its number when no shard's record names the node any more.
// Then another node may get this number.
//
// Pure and single-threaded: owned by a View.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "baton/types.h"

namespace baton::core {

class LeaderIndex {
 public:
  using Number = std::uint32_t;
  static constexpr Number kNobody = std::numeric_limits<Number>::max();

  /// For shards 0 to `shards` - 1. At first no record names a node.
  explicit LeaderIndex(std::uint32_t shards) : links_(shards) {}

  /// The shard's record names this node now. Empty: the record names no node. REQUIRES (not
  /// checked), also for Of: the shard is less than `shards` of the constructor.
  void Set(ShardId shard, const NodeId& node);

  /// The number of the node that the shard's record names; kNobody: the record names no node.
  Number Of(ShardId shard) const { return links_[shard.value].node; }
  /// The node's number; kNobody: no shard's record names the node.
  Number NumberOf(const NodeId& node) const;
  /// Every number is less than numbers(), which never shrinks.
  std::size_t numbers() const { return first_.size(); }
  /// Calls `function` for each shard whose record names the node, in no particular order. Never
  /// calls it for a node without a number. REQUIRES (not checked): `function` does not call Set.
  template <typename Function>
  void ForEachOf(const NodeId& node, Function function) const {
    const Number number = NumberOf(node);
    if (number == kNobody) return;
    for (std::uint32_t s = first_[number]; s != kEnd; s = links_[s].next) function(ShardId{s});
  }

 private:
  static constexpr std::uint32_t kEnd = std::numeric_limits<std::uint32_t>::max();
  struct Link {
    Number node = kNobody;
    std::uint32_t before = kEnd;  ///< the neighbours in the list of the node's shards
    std::uint32_t next = kEnd;
  };

  void Remove(std::uint32_t shard);

  std::vector<Link> links_;           ///< by shard
  std::vector<std::uint32_t> first_;  ///< by number: the first shard; kEnd: the number is free
  std::vector<NodeId> names_;         ///< by number
  std::vector<Number> free_;          ///< numbers that no node has
  std::map<NodeId, Number> numbers_;
};

}  // namespace baton::core
