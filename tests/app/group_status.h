// A group's status as a node answers it, made by hand: for tests of what batonctl computes from
// one.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/control.h"

namespace baton::app {

/// A live node of weight 1, in a zone or in none.
inline runtime::MemberStatus LiveNode(const NodeId& node, const std::string& zone = "") {
  runtime::MemberStatus member;
  member.fact.node = node;
  member.fact.present = true;
  member.fact.lease = member.fact.session = SessionId{7};
  member.fact.zone = zone;
  return member;
}

/// The shard of the next number, led by `leader`; "": by nobody.
inline void AddShard(runtime::NodeStatus& status, const NodeId& leader) {
  runtime::ShardStatus shard;
  shard.shard = ShardId{status.shard_count++};
  shard.leader = leader;
  shard.state = leader.empty() ? ShardState::kLeaderless : ShardState::kLed;
  status.shards.push_back(shard);
}

/// These nodes stand by for the shard and are ready.
inline void SetReady(runtime::ShardStatus& shard, const std::vector<NodeId>& nodes) {
  std::vector<runtime::StandbyStatus> standbys;
  for (const NodeId& node : nodes) standbys.push_back({.node = node, .address = "", .ready = true});
  shard.standbys = std::make_shared<const std::vector<runtime::StandbyStatus>>(standbys);
}

/// A status with these nodes and one shard for each leader.
inline runtime::NodeStatus StatusOf(const std::vector<runtime::MemberStatus>& nodes,
                                    const std::vector<NodeId>& leaders) {
  runtime::NodeStatus status;
  status.at = TimePoint{} + std::chrono::hours(1);
  status.members = nodes;
  for (const NodeId& leader : leaders) AddShard(status, leader);
  return status;
}

}  // namespace baton::app
