// SnapshotKeys: which keys a snapshot has. A plain value, for View. A key that is missing or false
// here is absent at the snapshot's revision. Exception: the key `died` is never here, because a
// proof of death stays true when that key is gone.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "base/facts.h"

namespace baton::core {

class SnapshotKeys {
 public:
  /// Gives `records` and `moves` `shards` entries each. Ignores facts of other shards.
  SnapshotKeys(const Snapshot& snapshot, std::uint32_t shards);

  std::vector<bool> records;  ///< by shard
  std::vector<bool> moves;    ///< by shard
  std::set<NodeId> members;
  std::set<PolicyName> policies;
  std::set<NodeId> ripe;
  bool balancer = false;
  bool config = false;

 private:
  void Note(const ShardRecordFact& fact);
  void Note(const MoveFact& fact);
  void Note(const MemberFact& fact) { members.insert(fact.node); }
  void Note(const PolicyFact& fact) { policies.insert(fact.name); }
  void Note(const BalancerFact&) { balancer = true; }
  void Note(const ConfigFact&) { config = true; }
  void Note(const RipeFact& fact) { ripe.insert(fact.node); }
  void Note(const DeathFact&) {}
};

}  // namespace baton::core
