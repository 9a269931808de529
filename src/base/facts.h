// Facts: what the group's keys in etcd say, as plain values.
//
// src/etcd turns keys and protobuf records into facts, and src/core decides by facts. Every fact
// has a revision, which orders the facts of one key. It is the key's mod revision. For an absent
// key, it is the revision at which the key was deleted or read as absent.
//
// If a key is absent or its value can't be read, the fields that the value would fill keep their
// defaults. Comments name the exceptions.
#pragma once

#include <algorithm>
#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/placement.h"
#include "baton/types.h"

namespace baton {

/// The schema of all records except `config`: this version writes it, and reads no newer one.
inline constexpr std::uint32_t kSchema = 1;
/// The schemas of `config`. A group's first config has kSchema. The first change of
/// FailoverSettings raises the schema to kFailoverSchema. The first change of the Placement raises
/// it to kPlacementSchema. (Versions that don't know a setting would ignore it.) The schema never
/// goes back.
inline constexpr std::uint32_t kFailoverSchema = 2;
inline constexpr std::uint32_t kPlacementSchema = 3;
/// The newest schema of `config` that this version reads.
inline constexpr std::uint32_t kConfigSchema = kPlacementSchema;
/// Versions of the protocol between nodes. From kFailoverProtocol on, a node obeys
/// FailoverSettings. From kPlacementProtocol on, it also obeys a Placement.
inline constexpr std::uint32_t kFailoverProtocol = 2;
inline constexpr std::uint32_t kPlacementProtocol = 3;
/// The version of this protocol that this version of Baton speaks.
inline constexpr std::uint32_t kProtocolVersion = kPlacementProtocol;

/// A member's record names at most this many shards for which the member is a ready standby. If
/// there are more, the record names those with the lowest numbers.
inline constexpr std::size_t kMaxReadyReported = 100'000;

/// Whether a stored value could be read.
enum class Readability : std::uint8_t {
  kReadable,
  /// The value can't be parsed, has no schema, is not valid, or contradicts its key.
  kDamaged,
  kNewerSchema,  ///< its schema is newer than this version knows; this version never replaces it
};

/// Whether a leadership with this reason began because the leader before died.
constexpr bool EndsADeath(Reason reason) {
  return reason == Reason::kLeaseExpired || reason == Reason::kProcessDied;
}

/// A rule about who may lead a shard after its leader's session has ended without a handoff. Here,
/// "any node" means any node that the group's Placement allows.
enum class FailoverPolicy : std::uint8_t {
  kImmediate,  ///< any node, at once
  kAfter,      ///< until a delay is over, only the node that led the shard; then any node
  kNever,      ///< only the node that led the shard, with the same state directory
};
const char* ToString(FailoverPolicy policy);

/// How the group fails over. An operator sets it; core/may_claim.h applies it.
struct FailoverSettings {
  FailoverPolicy policy = FailoverPolicy::kImmediate;
  std::chrono::milliseconds delay{0};  ///< for kAfter; 0 with the other policies
  /// After a node has seen that nobody leads a shard, it waits this long before it claims the
  /// shard. Reason: the last leader's application may still act for a while. A node does not wait
  /// if it knows that this application has stopped. 0: no node waits.
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
  /// Set even if the rest of the value can't be read. 0: absent, or not readable itself.
  std::uint32_t schema = 0;
  std::uint64_t cluster_id = 0;  ///< etcd's; 0: a recovery has closed the group
  FailoverSettings failover{};
  Placement placement{};
  std::string actor{};  ///< who set `failover` or `placement` last; empty: nobody
  /// If an operator has changed `failover` or `placement` since the revision of Incarnation(): this
  /// revision. Otherwise 0.
  Revision before_settings{};
  std::string unknown_fields{};  ///< serialized protobuf fields this version does not know

  /// The revision at which this config was created, put back after a bad write
  /// (core/config_keeper.h), or written by a recovery. If it changes, followers of routes get all
  /// routes again. A change of `failover` or `placement` does not change it.
  Revision Incarnation() const { return before_settings.value != 0 ? before_settings : revision; }
};

/// `members/<node>`.
struct MemberFact {
  NodeId node{};
  Revision revision{};         ///< mod revision; or the revision at which it was absent
  Revision create_revision{};  ///< 0: absent
  bool present = false;
  SessionId lease{};    ///< the lease of the key; 0: the key has no lease
  SessionId session{};  ///< the session in the value; 0: absent, or the value can't be read
  Readability readability = Readability::kReadable;
  MemberState state = MemberState::kActive;
  Reason dead_reason = Reason::kProcessDied;  ///< meaningful only if `state` is kDead
  std::chrono::milliseconds ttl{0};           ///< the lease time that etcd granted
  std::string address{};                      ///< the gRPC address for other nodes and batonctl
  std::string http_address{};
  std::string service_address{};  ///< the address in routes
  std::string zone{};
  Labels labels{};  ///< without `node` and `zone`; within a session, only operators change them
  std::uint32_t weight = 1;
  std::string software_version{};
  std::uint32_t protocol_version = 0;
  std::uint32_t assignment_version = 1;  ///< see core::kAssignmentVersion
  bool external = false;  ///< the application is another process, attached to a sidecar
  /// Activations fail on the node in this session. While this is true, the node gets no shards,
  /// except if failures are common (FailuresAreCommon in core/may_claim.h).
  bool failing = false;
  /// The application says that it is not healthy now. `state` is kDraining then: other nodes take
  /// the shards, and the node stays a member.
  bool unhealthy = false;
  /// The shards for which the node's application says that the node is a ready standby in this
  /// session. Sorted, without duplicates; at most kMaxReadyReported.
  std::vector<ShardId> ready{};
  /// The random id of the node's state directory. 0: the node has no state directory.
  std::uint64_t directory = 0;
  /// The value has an invalid label, address, zone, version or list of ready shards. This fact
  /// leaves out each invalid label. Each of the other fields is empty if it is invalid.
  bool unusable_text = false;
  std::string unknown_fields{};  ///< serialized protobuf fields this version does not know

  /// Returns the value of a label; `name` may be `node` or `zone`. Empty: the node has no such
  /// label. The reference is valid until this fact is changed or destroyed.
  const std::string& Label(std::string_view name) const;
  /// Whether the node's labels, with `node` and `zone`, fit all terms. True without terms.
  bool Fits(const LabelTerms& terms) const;
  /// Whether the node says that it is a ready standby for the shard.
  bool ReadyFor(ShardId shard) const {
    return std::binary_search(ready.begin(), ready.end(), shard);
  }
  /// Whether the node has said that it leaves the group.
  bool Leaves() const { return state == MemberState::kDraining && !unhealthy; }
  /// Whether the key has the lease `which`. False if `which` is 0.
  bool HoldsSession(SessionId which) const { return present && lease.value != 0 && lease == which; }
  /// Whether the node is a live member. The value must be readable, name the key's lease, and not
  /// mark the node as dead.
  bool Live() const {
    return present && readability == Readability::kReadable && state != MemberState::kDead &&
           HoldsSession(session);
  }
  friend bool operator==(const MemberFact&, const MemberFact&) = default;
};

/// The part of a shard's record about deaths of its leaders (core/death_backoff.h).
struct DeathTally {
  /// How many leaders in a row had died soon after they began to lead, when this record was
  /// written. Orderly handoffs don't end the row.
  std::uint32_t deaths = 0;
  /// If `deaths` is 0: when this record was written, by the writer's clock. Otherwise: when the
  /// first leadership after the last death began, by that leader's clock. Orderly handoffs don't
  /// change this time. WallTime{}: not known.
  WallTime begun{};
  friend bool operator==(const DeathTally&, const DeathTally&) = default;
};

/// The value of `shards/<shard>` or of `balancer`.
struct RecordFact {
  Revision revision{};  ///< mod revision (the term); or the revision at which it was absent
  bool present = false;
  Readability readability = Readability::kReadable;
  /// How often the key was written, its creation included. A number above the type's maximum counts
  /// as the maximum. 0: absent, or not known, as in a WriteResult's `read_back` of done items.
  std::uint32_t version = 0;
  /// The key's create revision. 0: absent, or not known, as for `version`.
  Revision create_revision{};
  NodeId leader{};  ///< empty: nobody leads
  /// The leader's session. If nobody leads: the session that resigned, or the dead session whose
  /// shard an operator released by force. 0: not known.
  SessionId session{};
  NodeId resigned_by{};  ///< if nobody leads: the node that resigned; empty after a force-release
  NodeId previous{};     ///< the leader before this record; empty: nobody led, or not known
  Reason reason = Reason::kStartup;
  std::string actor{};
  Cause cause{};  ///< why `leader` got the shard; kUnknown also if nobody leads
  DeathTally tally{};
  /// The id of the state directory of the leader, or of the node that resigned. 0: the record names
  /// no such node, the node had no state directory, or an older version wrote the record.
  std::uint64_t directory = 0;
  /// Nobody leads, and the last leader's application is known to have stopped: it had released the
  /// shard, or its death was proven when an operator released the shard by force.
  bool released = false;
  std::string unknown_fields{};
  std::string damaged_value{};  ///< if not readable: the first 4 KiB of the value

  Term term() const { return Term{revision.value}; }
  /// Whether this fact comes from the next write of the key after `before`. False if not known.
  bool DirectlyFollows(const RecordFact& before) const {
    return before.version != 0 && version == before.version + std::uint64_t{1} &&
           create_revision == before.create_revision;
  }
};

/// How far a move has come. kPlanned: the target has not prepared yet. kPrepared: the target has
/// prepared. kVoid: nobody will carry the move out.
enum class MovePhase : std::uint8_t { kPlanned, kPrepared, kVoid };
const char* ToString(MovePhase phase);

/// `moves/<shard>`: asks the shard's leader to hand the shard to another node.
struct MoveFact {
  ShardId shard{};
  Revision revision{};
  bool present = false;
  Readability readability = Readability::kReadable;
  Term ends{};  ///< the leadership that this move ends; when it is over, the move is void
  NodeId from{};
  NodeId to{};
  Reason reason = Reason::kRebalance;
  std::string actor{};
  Cause cause{};
  MovePhase phase = MovePhase::kPlanned;
  SessionId prepared_session{};  ///< the target's session, if the target has prepared
  std::string void_reason{};     ///< one line, if the phase is kVoid
  std::string unknown_fields{};
};

/// The kinds of policies, in the order of their keys.
enum class PolicyKind : std::uint8_t {
  kChanged,        ///< every change of a policy rewrites it; its revision guards the next change
  kDrain,          ///< a node leads nothing
  kExpectedNodes,  ///< how many live members the group should have
  kLimits,         ///< how many moves are made at once, and how soon
  kPause,          ///< no moves for balance alone
  kRebalance,      ///< an operator's "apply" is being carried out
};

/// Names a policy. Each kind has at most one policy; kDrain has at most one for each node.
struct PolicyName {
  PolicyKind kind = PolicyKind::kChanged;
  NodeId node{};  ///< the node that kDrain drains; empty for other kinds
  friend auto operator<=>(const PolicyName&, const PolicyName&) = default;
};

/// `policy/…`: a lasting order of an operator. The order is in force while the key exists, even if
/// its value can't be read.
struct PolicyFact {
  PolicyName name{};
  Revision revision{};
  bool present = false;
  std::string actor{};
  std::uint32_t max_moves = 0;       ///< kLimits only; 0: not set
  std::uint32_t expected_nodes = 0;  ///< kExpectedNodes only; 0: not set
  /// kChanged only: the last order of `actor` in words ("drain n3"), as one line. Empty: nobody
  /// wrote words (see PolicyWrite in writes.h), or the value can't be read.
  std::string change{};
  // kLimits only: each node uses these instead of its options of the same names. Unset: each node's
  // own option counts.
  std::optional<std::chrono::milliseconds> rebalance_delay{};
  std::optional<std::chrono::milliseconds> cooldown{};
  std::string unknown_fields{};  ///< serialized protobuf fields this version does not know

  /// Whether both facts give the same order. Ignores `actor`, `change` and `unknown_fields`.
  /// REQUIRES (not checked): both have the same name.
  bool OrdersTheSame(const PolicyFact& other) const {
    if (!present || !other.present) return present == other.present;
    return max_moves == other.max_moves && expected_nodes == other.expected_nodes &&
           rebalance_delay == other.rebalance_delay && cooldown == other.cooldown;
  }
};

/// An operator's change of the policy kLimits. A field that is unset leaves its limit as it is.
struct LimitsChange {
  /// A delay that replaces the present one. No value: each node's own option counts.
  using Delay = std::optional<std::chrono::milliseconds>;
  struct DelayOrder {
    Delay delay{};
    friend bool operator==(const DelayOrder&, const DelayOrder&) = default;
  };
  std::optional<std::uint32_t> max_moves{};  ///< 0: each node's own option counts
  std::optional<DelayOrder> rebalance_delay{};
  std::optional<DelayOrder> cooldown{};

  bool empty() const { return !max_moves && !rebalance_delay && !cooldown; }
  friend bool operator==(const LimitsChange&, const LimitsChange&) = default;
};
/// Returns the policy kLimits after the change. `now`: the policy before the change, which may be
/// absent. The result's name is kLimits, whatever name `now` has. The result keeps the other fields
/// of `now`, also `revision` and `actor`. It is absent if it sets no limit and has no unknown
/// fields.
PolicyFact LimitsAfter(PolicyFact now, const LimitsChange& change);

/// Returns words for the order that a write of this policy gives: "drain n3", "undrain n3",
/// "pause", "resume", "rebalance", "cancel rebalance", or "expected-nodes 3" (0 if absent). For
/// kLimits, names the limits that are set: "max-moves 5, cooldown 10m"; or returns "default
/// limits". Empty for kChanged.
std::string ChangeWords(const PolicyFact& policy);

/// `died`: the last session that a guard or a node ended early because the session's process was
/// proven dead. A watch shows every such session, together with the end of its member key, at the
/// same revision. Only a watch proves the death. A read shows only the last of these sessions, and
/// does not show when its member key ended.
struct DeathFact {
  Revision revision{};
  bool present = false;
  NodeId node{};        ///< empty if the value can't be read
  SessionId session{};  ///< of `node`; 0 if the value can't be read
  /// How long the guard or node had known of the death when it ended the session, in whole
  /// microseconds. Unset: not known.
  std::optional<Duration> detect{};
};

/// `ripe/<node>`: the delay of FailoverPolicy::kAfter is over for leaderships of this node. So any
/// node may claim the shards of these leaderships. The first node that sees the delay end writes
/// this key. Nodes delete the key once no record names such a leadership.
struct RipeFact {
  NodeId node{};
  Revision revision{};
  bool present = false;
  /// The delay is over for leaderships with terms up to this one. 0 if the value can't be read.
  Revision up_to{};
};

struct ShardRecordFact {
  ShardId shard{};
  RecordFact record{};
};
struct BalancerFact {
  RecordFact record{};
};

/// One key's fact. An absent key has a fact whose `present` is false.
using Fact = std::variant<ConfigFact, MemberFact, ShardRecordFact, MoveFact, BalancerFact,
                          PolicyFact, DeathFact, RipeFact>;

/// All keys below the group's prefix at one revision. A key without a fact here is absent, except
/// for keys that never have a fact (see Decoded in etcd/keyspace.h).
struct Snapshot {
  Revision revision{};
  std::vector<Fact> facts{};
  WallTime wall{};  ///< when the snapshot arrived, by the reader's wall clock; {}: not known
};

/// All changes of one or more whole revisions, in the order of the revisions. Changes of one
/// revision come in any order. `facts` is empty if these revisions changed only keys that never
/// have a fact.
struct Changes {
  /// The revision of the last change. Every change up to this revision is in these Changes, in
  /// earlier ones, or in the snapshot before them.
  Revision revision{};
  std::vector<Fact> facts{};
};

}  // namespace baton
