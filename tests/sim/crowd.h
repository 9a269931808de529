// Crowd: one real engine in a large group whose other members are played by a script. It measures
// what the group costs the one node's loop: a whole group of a thousand engines would need tens of
// gigabytes.
//
// The script writes what real members would write: their keys, and claims by the assignment at the
// pace that the group's limit allows, each a revision of its own.
//
// For one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "etcd/keyspace.h"
#include "sim/virtual_group.h"

namespace baton::sim {

/// The cost of turns of the node's loop.
struct LoopCost {
  std::uint64_t turns = 0;
  Duration all{};      ///< processor time
  Duration longest{};  ///< of one turn
};

class Crowd {
 public:
  struct Options {
    int members = 0;  ///< beside the real one
    std::uint32_t shards = 0;
    bool listener = false;
    /// The members are in these in turn, and then the real node; 0: in none.
    int zones = 0;
  };
  static std::string ZoneName(int zone) { return std::string(1, static_cast<char>('a' + zone)); }
  explicit Crowd(Options options);
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  /// Starts the real node, and waits until it has read the group.
  void Start();
  /// Gives the group these rules, and starts the real node alone, so that it is the balancer. Then
  /// all members join, before anything is led.
  void StartAsBalancer(const Placement& rules);
  /// Adds another real node, and waits until it has read the group. From then on the real node is
  /// this one, and only its turns count.
  void StartAnother();
  // Members are numbered from 0. The changes are made at once.
  void Join(int member);
  void Die(int member);
  /// Writes the member's key again, as it is.
  void Update(int member);
  /// Gives the group these rules, as an operator would.
  void SetRules(const Placement& placement);
  /// Writes that the member is a ready standby for all shards for which it stands by, as the real
  /// node sees it.
  void SayReady(int member);
  /// Ends the real node's session, as an operator would.
  void EndSession();
  /// Gives all vacant shards to members, at once: a beginning, not what is measured.
  void GiveAll();
  /// Makes the member the leader of the shard, at once.
  void Give(ShardId shard, int member);

  void RunFor(Duration length);
  /// Runs until each shard has a leader, while the script claims what falls to its members.
  /// Returns false if that takes longer than `most`.
  bool RunUntilAllAreLed(Duration most);

  /// The cost since the last call.
  LoopCost TakeCost();
  Process& node() { return *process_; }
  World& world() { return world_; }

 private:
  struct Member {
    std::string name;
    std::int64_t lease = 0;
    bool there = false;
    std::vector<ShardId> ready = {};
  };

  std::string ZoneOf(int number) const;
  void AddReal(const NodeId& node);
  void Put(const std::string& key, const std::string& value, std::int64_t lease);
  void PlanClaims();
  void ClaimOne();
  pb::RequestOp PutRecord(ShardId shard, const Member& leader) const;

  const Options options_;
  const etcd::Keyspace keyspace_;
  QuietObserver observer_;
  VirtualGroup group_{observer_};
  World& world_ = group_.world();
  EtcdModel& etcd_ = group_.etcd();
  Process* process_ = nullptr;
  std::vector<Member> members_;
  /// what the script's members are about to claim, and for which view
  std::vector<std::pair<ShardId, std::size_t>> claims_;
  LoopCost cost_;
};

}  // namespace baton::sim
