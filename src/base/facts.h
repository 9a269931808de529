// Facts: what the group's keys in etcd say, as plain values.
//
// src/etcd turns keys and protobuf records into facts; src/core decides by them. Neither sees the
// other. Every fact carries the revision from which it is known; the revision orders the facts of
// one key. The fact of an absence carries the revision at which the key was deleted, or read as
// absent.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "baton/types.h"

namespace baton {

/// The schema of records that this version writes, and the newest that it reads.
inline constexpr std::uint32_t kSchema = 1;
/// The newest schema of `config` that this version reads. It writes kSchema, until an operator sets
/// something that versions which know no more would not keep to (FailoverSettings).
inline constexpr std::uint32_t kConfigSchema = 2;
/// The version of the protocol between nodes that this version speaks. 2: it keeps to
/// FailoverSettings.
inline constexpr std::uint32_t kProtocolVersion = 2;

/// Whether a stored value could be read.
enum class Readability : std::uint8_t {
  kReadable,
  kDamaged,      ///< it can't be parsed, or its content contradicts itself or its key
  kNewerSchema,  ///< a newer schema than this version knows; nobody replaces it
};

/// Whether a leadership with this reason follows one whose leader died.
constexpr bool EndsADeath(Reason reason) {
  return reason == Reason::kLeaseExpired || reason == Reason::kProcessDied;
}

/// Who may lead a shard after its leader's session has ended, and its leader was not replaced in
/// order.
enum class FailoverPolicy : std::uint8_t {
  kImmediate,  ///< any node, at once
  kAfter,      ///< for a delay only the node that led it; then any node
  kNever,      ///< only the node that led it, with the same state directory
};
const char* ToString(FailoverPolicy policy);

/// How the group fails over. An operator sets it; core/may_claim.h keeps to it.
struct FailoverSettings {
  FailoverPolicy policy = FailoverPolicy::kImmediate;
  std::chrono::milliseconds delay{0};  ///< of kAfter
  /// How long a shard stays without a leader if nothing proves that the last one has stopped: its
  /// application may still act for a while, without knowing. 0: not at all.
  std::chrono::milliseconds lock_delay{0};
  friend bool operator==(const FailoverSettings&, const FailoverSettings&) = default;
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
  FailoverSettings failover{};
  std::string actor{};  ///< who set `failover` last; empty: nobody
  /// If an operator has changed the settings: the incarnation of the config before. 0: none has.
  Revision before_settings{};
  std::string unknown_fields{};  ///< serialized protobuf fields this version does not know

  /// The revision at which this config was created or put back. Who follows the group starts over
  /// if it changes, and not if only the settings do.
  Revision Incarnation() const { return before_settings.value != 0 ? before_settings : revision; }
};

/// `members/<node>`.
struct MemberFact {
  NodeId node{};
  Revision revision{};         ///< mod revision; or the revision at which it was absent
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
  std::uint32_t division_version = 1;  ///< see core::kAssignmentVersion
  bool external = false;  ///< another process acts on the node's leaderships, and is sent deadlines
  /// Activations fail on it, and none has succeeded since: it gets no shards for now. An earlier
  /// session's failures don't count.
  bool failing = false;
  /// The application says that it is not healthy, so the state is kDraining: others take the
  /// shards, and the node stays. What an earlier session said doesn't count.
  bool unhealthy = false;
  /// The random id of the node's state directory; 0: it has none.
  std::uint64_t directory = 0;
  /// At least one of its addresses, its zone or its version is not valid, and reads as empty.
  bool unusable_text = false;
  std::string unknown_fields{};  ///< serialized protobuf fields this version does not know

  /// Whether it says that it leaves.
  bool Leaves() const { return state == MemberState::kDraining && !unhealthy; }
  /// Whether the key hangs on the lease `which`: the same check as a claim's guard.
  bool HoldsSession(SessionId which) const { return present && lease.value != 0 && lease == which; }
  /// Whether it takes part: it is readable, hangs on the lease that its value names, and is not
  /// marked dead.
  bool Live() const {
    return present && readability == Readability::kReadable && state != MemberState::kDead &&
           HoldsSession(session);
  }
};

/// What a shard's record says of deaths (see core/death_backoff.h). Counts only for the leadership
/// for which it was written.
struct DeathTally {
  /// how many leaders in a row, up to the one before this record, led for a short time and died
  std::uint32_t deaths = 0;
  /// If `deaths` is above 0: when the first leadership after the last death began, by that leader's
  /// clock; orderly handoffs keep it. If 0: when this record was written.
  WallTime begun{};
  friend bool operator==(const DeathTally&, const DeathTally&) = default;
};

/// `shards/<shard>`, and `balancer` (with no shard number).
struct RecordFact {
  Revision revision{};  ///< mod revision (the term); or the revision at which it was absent
  bool present = false;
  Readability readability = Readability::kReadable;
  NodeId leader{};       ///< empty: nobody leads
  SessionId session{};   ///< the leader's; if nobody leads, the session that resigned
  NodeId resigned_by{};  ///< if nobody leads: the node that resigned
  NodeId previous{};     ///< the leader before this record
  Reason reason = Reason::kStartup;
  std::string actor{};
  DeathTally tally{};
  /// The id of the state directory of the leader, or of the node that resigned; 0: it had none, or
  /// a version wrote the record that does not know it.
  std::uint64_t directory = 0;
  /// If nobody leads: the last leader's application is known to have stopped. It had released the
  /// shard, or its death was proven when an operator released the shard by force.
  bool released = false;
  std::string unknown_fields{};
  std::string damaged_value{};  ///< the stored bytes, if not readable

  Term term() const { return Term{revision.value}; }
};

enum class MovePhase : std::uint8_t { kPlanned, kPrepared, kVoid };
const char* ToString(MovePhase phase);

/// `moves/<shard>`: a request that the shard's leader resigns in favour of another node.
struct MoveFact {
  ShardId shard{};
  Revision revision{};
  bool present = false;
  Readability readability = Readability::kReadable;
  Term ends{};  ///< the leadership that this move ends; if that is not in force, the move is void
  NodeId from{};
  NodeId to{};
  Reason reason = Reason::kRebalance;
  std::string actor{};
  MovePhase phase = MovePhase::kPlanned;
  SessionId prepared_session{};  ///< the target's, once it has prepared
  std::string void_reason{};     ///< one line, if the phase is kVoid
  std::string unknown_fields{};
};

/// The kinds of policies, in the order of their keys.
enum class PolicyKind : std::uint8_t {
  kChanged,        ///< every change of any policy rewrites it; its revision guards the next change
  kDrain,          ///< a node leads nothing
  kExpectedNodes,  ///< how many live members the group should have
  kLimits,         ///< how many moves are made at once
  kPause,          ///< no moves for balance alone
  kRebalance,      ///< an operator's "apply" is being carried out
};

/// Names a policy: a group has one of each kind, but one kDrain for each node.
struct PolicyName {
  PolicyKind kind = PolicyKind::kChanged;
  NodeId node{};  ///< that kDrain is about; empty for other kinds
  friend auto operator<=>(const PolicyName&, const PolicyName&) = default;
};

/// `policy/…`: operators' lasting orders. If the value can't be read, the policy is present with
/// nothing set.
struct PolicyFact {
  PolicyName name{};
  Revision revision{};
  bool present = false;
  std::string actor{};
  std::uint32_t max_moves = 0;       ///< of kLimits; 0: not set
  std::uint32_t expected_nodes = 0;  ///< of kExpectedNodes; 0: not set
  /// Of kChanged: what `actor` ordered last, for people ("drain n3"); empty: not known. Any bytes.
  std::string change{};

  /// Whether it orders the same as `other`. Who asked does not matter.
  bool OrdersTheSame(const PolicyFact& other) const {
    if (!present || !other.present) return present == other.present;
    return max_moves == other.max_moves && expected_nodes == other.expected_nodes;
  }
};

/// Says in words what a write of this policy orders: "drain n3", "undrain n3", "pause", "resume",
/// "rebalance", "cancel rebalance", "max-moves 5", "expected-nodes 3".
std::string ChangeWords(const PolicyFact& policy);

/// `died`: the last session that somebody ended early because its process was proven dead.
/// Everybody who watches sees each of them; a read shows the last one.
struct DeathFact {
  Revision revision{};
  bool present = false;
  NodeId node{};        ///< empty if the value can't be read
  SessionId session{};  ///< of `node`; 0 if the value can't be read
};

/// `ripe/<node>`: the delay of FailoverPolicy::kAfter is over for the leaderships of this node, so
/// any node may claim them. The node that finds it so first writes it; nobody takes it back. It is
/// deleted once no record names such a leadership.
struct RipeFact {
  NodeId node{};
  Revision revision{};
  bool present = false;
  /// For leaderships with terms up to this one. 0 if the value can't be read.
  Revision up_to{};
};

struct ShardRecordFact {
  ShardId shard{};
  RecordFact record{};
};
struct BalancerFact {
  RecordFact record{};
};

/// One key's fact. Absences are facts with `present == false`.
using Fact = std::variant<ConfigFact, MemberFact, ShardRecordFact, MoveFact, BalancerFact,
                          PolicyFact, DeathFact, RipeFact>;

/// Everything below the group's prefix at one revision. A key that is not in it is absent.
struct Snapshot {
  Revision revision{};
  std::vector<Fact> facts{};
  WallTime wall{};  ///< the reader's wall clock when it arrived
};

/// All changes of one or more whole revisions, in revision order; in any order within a revision.
struct Changes {
  /// of the last change; all changes up to it are contained here or came before
  Revision revision{};
  std::vector<Fact> facts{};
};

}  // namespace baton
