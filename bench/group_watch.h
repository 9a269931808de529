// GroupWatch: a group as an observer outside its nodes sees it, through its own watch and by the
// clock of this process. A time is the arrival of a watch response, before it is parsed.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "etcd/grpc/transport.h"
#include "etcd/keyspace.h"
#include "lab/private_etcd.h"

namespace baton::bench {

class GroupWatch {
 public:
  /// Sees everything from the group's beginning. Throws std::runtime_error if it can't connect.
  GroupWatch(const lab::PrivateEtcd& etcd, const std::string& group, std::uint32_t shards);
  ~GroupWatch();
  GroupWatch(const GroupWatch&) = delete;
  GroupWatch& operator=(const GroupWatch&) = delete;

  /// When the node's member key was last seen created, and deleted.
  std::optional<TimePoint> Joined(const NodeId& node) const;
  std::optional<TimePoint> Left(const NodeId& node) const;
  /// Revokes the node's lease, which deletes its member key; returns when it began.
  /// REQUIRES: it has joined.
  TimePoint Revoke(const NodeId& node);
  /// How many shards' records name each node.
  std::map<NodeId, std::uint32_t> Leaders() const;
  /// The shards whose records name the node.
  std::vector<ShardId> LedBy(const NodeId& node) const;
  /// How many standbys say that they are ready, over all shards.
  std::size_t ReadyStandbys() const;
  /// When a shard's record last changed.
  TimePoint LastClaim() const;
  std::uint32_t shards() const { return static_cast<std::uint32_t>(leaders_.size()); }

 private:
  void Take(const etcdserverpb::WatchResponse& response);
  void Take(const MemberFact& member, TimePoint at);
  void Take(const ShardRecordFact& record, TimePoint at);

  const etcd::Keyspace keyspace_;
  mutable std::mutex mutex_;  // guards the members below, up to the transport
  std::map<NodeId, TimePoint> joined_;
  std::map<NodeId, TimePoint> left_;
  std::map<NodeId, SessionId> sessions_;
  std::map<NodeId, std::size_t> ready_;  ///< for how many shards each node is a ready standby
  std::vector<NodeId> leaders_;
  std::map<NodeId, std::uint32_t> counts_;
  TimePoint last_claim_{};
  std::unique_ptr<etcd::GrpcTransport> transport_;
  std::unique_ptr<etcd::WatchStream> stream_;
};

/// All shards' records name somebody, and the counts differ by one at most.
bool Balanced(const GroupWatch& watch, std::size_t nodes);

}  // namespace baton::bench
