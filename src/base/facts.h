// Facts: what the group's keys in etcd say, as plain values.
//
// The common language of src/etcd (which reads and writes keys and protobuf records) and src/core
// (which decides and sees neither). Every fact carries the revision it is known from; facts of one
// key are ordered by it, and an absence has the revision it was read or deleted at.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "baton/types.h"

namespace baton {

/// How a stored value reads.
enum class Readability : std::uint8_t {
  kReadable,
  kDamaged,      ///< not parseable, or its content contradicts itself or its key
  kNewerSchema,  ///< of an unknown newer schema: never replaced
};

/// `config`: what the group's nodes must agree on.
struct ConfigFact {
  Revision revision{};
  bool present = false;
  Readability readability = Readability::kReadable;
  std::uint32_t shards = 0;
  HashFunction hash = HashFunction::kMurmur2;
  std::uint32_t schema = 0;
  std::uint64_t cluster_id = 0;
};

/// `members/<node>`.
struct MemberFact {
  NodeId node{};
  Revision revision{};         ///< mod revision, or where the absence was seen
  Revision create_revision{};  ///< 0 when absent
  bool present = false;
  SessionId lease{};    ///< the lease the key hangs on; 0: none
  SessionId session{};  ///< the session its value names; 0 if unreadable
  Readability readability = Readability::kReadable;
  MemberState state = MemberState::kActive;
  Reason dead_reason = Reason::kProcessDied;  ///< meaningful when state is kDead
  std::chrono::milliseconds ttl{0};           ///< as granted
  std::string address{};                      ///< gRPC address other nodes and batonctl use
  std::string http_address{};
  std::string service_address{};  ///< what routes carry
  std::string zone{};
  std::uint32_t weight = 1;
  std::string software_version{};
  std::uint32_t protocol_version = 0;
  std::uint32_t division_version = 1;  ///< highest succession function this node can run
  bool external = false;               ///< deadlines were told to another process
  std::string unknown_fields{};        ///< serialized protobuf fields this version does not know

  /// The key's lease is `which`: exactly what a claim's guard compares.
  bool HoldsSession(SessionId which) const { return present && lease.value != 0 && lease == which; }
  /// Takes part: the key hangs on the lease that its readable value names, and is not marked dead.
  bool Live() const {
    return present && readability == Readability::kReadable && state != MemberState::kDead &&
           HoldsSession(session);
  }
};

/// `shards/<shard>`, and `balancer` (with no shard number).
struct RecordFact {
  Revision revision{};  ///< mod revision (the term), or where the absence was seen
  bool present = false;
  Readability readability = Readability::kReadable;
  NodeId leader{};       ///< empty: nobody leads
  SessionId session{};   ///< the leader's; where nobody leads, the session that resigned
  NodeId resigned_by{};  ///< where nobody leads: the node of that session
  NodeId previous{};     ///< the leader before this record
  Reason reason = Reason::kStartup;
  std::string actor{};
  std::string unknown_fields{};
  std::string damaged_value{};  ///< the stored bytes, where not readable

  Term term() const { return Term{revision.value}; }
};

enum class MovePhase : std::uint8_t { kPlanned, kPrepared, kVoid };
const char* ToString(MovePhase phase);

/// `moves/<shard>`: a wish that the shard's leader resigns in favour of another node.
struct MoveFact {
  ShardId shard{};
  Revision revision{};
  bool present = false;
  Readability readability = Readability::kReadable;
  Term ends{};  ///< the leadership this move ends; void once that is not in force
  NodeId from{};
  NodeId to{};
  Reason reason = Reason::kRebalance;
  std::string actor{};
  MovePhase phase = MovePhase::kPlanned;
  SessionId prepared_session{};  ///< the target's, once it prepared
  std::string void_reason{};     ///< one line, where phase is kVoid
  std::string unknown_fields{};
};

/// The policy whose revision each other one's change is guarded by, and moves on.
inline constexpr const char* kPolicyChanged = "changed";

/// `policy/…`: operators' standing words.
struct PolicyFact {
  /// "drain/<node>", "pause", "limits", "rebalance" (an operator's "apply"), or kPolicyChanged.
  std::string name{};
  Revision revision{};
  bool present = false;
  std::string actor{};
  std::uint32_t max_moves = 0;  ///< in "limits"; 0: not set
};

struct ShardRecordFact {
  ShardId shard{};
  RecordFact record{};
};
struct BalancerFact {
  RecordFact record{};
};

/// One key's fact. Absences are facts with `present == false`.
using Fact =
    std::variant<ConfigFact, MemberFact, ShardRecordFact, MoveFact, BalancerFact, PolicyFact>;

/// Everything below the group's prefix at one revision. A key not named here is absent at it.
struct Snapshot {
  Revision revision{};
  std::vector<Fact> facts{};
};

/// All changes of one or more whole revisions, in revision order; within a revision in any order.
struct Changes {
  Revision revision{};  ///< of the last change; every revision up to it is complete
  std::vector<Fact> facts{};
};

}  // namespace baton
