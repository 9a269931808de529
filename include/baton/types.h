// The types of Baton's model: shards, nodes, sessions, revisions, terms, reasons.
//
// All types are plain values: copyable, comparable, and safe to read from several threads at once.
// Each kind of number has its own type. So the compiler refuses a Term in the place of a Revision.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "baton/cause.h"
#include "baton/export.h"

namespace baton {

/// A shard's number, from 0 to the group's shard count minus 1.
struct ShardId {
  std::uint32_t value = 0;
  friend auto operator<=>(const ShardId&, const ShardId&) = default;
};

/// An etcd revision. Each commit that changes etcd's data has a greater revision. 0: none.
struct Revision {
  std::int64_t value = 0;
  friend auto operator<=>(const Revision&, const Revision&) = default;
};

/// The number of one leadership of one shard. The term is the fencing token of this leadership. It
/// is the mod revision of the shard's record in etcd, so every reader sees the same term. The
/// shard's next leadership always has a greater term. One exception: an etcd that was wiped or
/// restored from a backup may repeat terms (docs/operating.md). Terms of different shards may be
/// equal. 0: no leadership.
struct Term {
  std::int64_t value = 0;
  friend auto operator<=>(const Term&, const Term&) = default;
};

/// The id of a node's session: the id of the node's etcd lease. No id is used twice. 0: none.
struct SessionId {
  std::int64_t value = 0;
  friend auto operator<=>(const SessionId&, const SessionId&) = default;
};

/// A node's name: 1 to 128 ASCII letters, digits, '-', '_' and '.'. The names "." and ".." are not
/// valid. Empty: no node.
using NodeId = std::string;

/// Why a shard's leadership changed. Metrics, log lines, records and listeners all use this enum.
enum class Reason : std::uint8_t {
  kStartup,          ///< no record existed, or the new leader never saw the previous leader alive
  kLeaseExpired,     ///< the leader's session ended without a resignation
  kProcessDied,      ///< the leader's guard or its next process proved that the leader had died
  kRebalance,        ///< moved by the balancer, for balance or because of a placement rule
  kDrain,            ///< given away by a node that an operator drains, or that is unhealthy
  kShutdown,         ///< given away by Node::Drain; on the leader also: lost by Stop or a halt
  kOperator,         ///< moved or released by an operator; or the record was damaged or deleted
  kCallbackTimeout,  ///< given away because Acquired failed or took too long. In a group with a
                     ///< lock delay (`batonctl group set`), also: resigned because Releasing
                     ///< failed or took too long
  kSuspended,        ///< the leader's deadline passed by its clock, without a confirmed renewal
  kResumed,          ///< a late renewal was confirmed, or a handoff was undone; the term stays
};
inline constexpr int kReasonCount = 10;

/// The reason's word in metrics, logs and JSON, for example "lease_expired". Never null.
BATON_EXPORT const char* ToString(Reason reason);

/// A member's state, as its member key in etcd says.
enum class MemberState : std::uint8_t {
  kActive,    ///< takes shards
  kDraining,  ///< gives its shards away and takes none
  kDead       ///< its process was proven dead
};
/// "active", "draining" or "dead".
BATON_EXPORT const char* ToString(MemberState state);

/// A shard's state as routes and tables show it. Only the shard's leader knows that the shard is
/// kActivating or kSuspended. Other nodes show such a shard as kLed or kMoving.
enum class ShardState : std::uint8_t {
  kLed,         ///< the shard has a leader, whose Acquired callback has returned
  kActivating,  ///< the shard's leader may act, but its Acquired callback has not succeeded yet
  kMoving,      ///< a move of the led shard is in flight; in tables also: the leader resigns
  kSuspended,   ///< the leader may not act: no renewal is confirmed, or its session is lost
  kLeaderless,  ///< the shard has no leader
};
/// "led", "activating", "moving", "suspended" or "leaderless".
BATON_EXPORT const char* ToString(ShardState state);

/// A node's own leadership of a shard, as the node knows it at one moment.
struct Leadership {
  ShardId shard;
  Term term;           ///< the fencing token; 0 if `leads` is false
  bool leads = false;  ///< the node may act as leader now (see Node::Leads)
  /// True if `leads` is true and the listener's Acquired has returned. Without a listener,
  /// `activated` equals `leads`. Both stay true while Releasing runs, and for a moment afterwards.
  /// But begin no new work once Releasing has begun. If the node keeps the shard after Releasing,
  /// `activated` is false until Acquired has returned once more.
  bool activated = false;
  friend bool operator==(const Leadership&, const Leadership&) = default;
};

/// How keys map to shards (see baton/sharding.h). Fixed when the group is created.
enum class HashFunction : std::uint8_t { kMurmur2, kXxh3Jump, kModulo };
/// "murmur2", "xxh3-jump" or "modulo".
BATON_EXPORT const char* ToString(HashFunction hash);

/// One change of one shard's leadership. Log, metrics, history and listener all get the same
/// Transition.
///
/// At most one node counts a change: the node that gained the shard. If a node counts a change, the
/// change goes to the log, metrics and listener of this node. Without a listener, the node counts
/// the change at once. With a listener, the node waits until the first Acquired of this term has
/// returned, thrown or exceeded callback_timeout, or until the shard is lost. If the node dies
/// before that, nobody counts the change.
///
/// A node also counts its own kSuspended (`to` is empty) and kResumed (`from` is empty). If a
/// leader is lost and no other node may lead the shard, the balancer counts the loss (`to` is
/// empty). Possible causes: all members have weight 0, placement rules allow none of them, or the
/// failover setting is `never`.
struct Transition {
  ShardId shard;
  Reason reason = Reason::kStartup;
  NodeId from{};  ///< the previous leader; empty: none
  NodeId to{};    ///< the leader now; empty: none
  Term term{};    ///< the term of `to`; if `to` is empty, the term that ended or was suspended
  /// The operator who asked for the change, for example by a drain or `rebalance apply`. If the
  /// shard's damaged record was replaced: "baton (damaged record replaced)". Otherwise empty.
  std::string actor{};
  /// Why the shard went to `to`. For kSuspended and kResumed, and if `to` is empty: kUnknown.
  Cause cause{};
  /// How long the shard had no leader, by this node's clock: from when the node saw that nobody led
  /// until it saw the new leader. 0 in two cases: `to` is empty, or the node never saw the shard
  /// without a leader (as in each planned move). For kResumed: how long this node was suspended.
  std::chrono::nanoseconds elect{0};
  /// How long activation took, by this node's clock: from when the node saw the new leader until
  /// Acquired returned. 0 in these cases:
  ///  - There is no listener.
  ///  - The first Acquired threw or exceeded callback_timeout.
  ///  - The shard was lost before Acquired returned.
  ///  - The reason is kResumed, or `to` is empty.
  std::chrono::nanoseconds activate{0};
  /// For kLeaseExpired: at most this long passed from the previous leader's death until this node
  /// knew of the death. Nobody knows the exact time. Unset for all other reasons. Also unset if
  /// this node knows no bound, for example because it started after the death.
  std::optional<std::chrono::nanoseconds> detect_at_most{};
  /// For kProcessDied, if the previous leader's guard (baton-guard) saw the leader die: the time
  /// from when the guard got the lock of the dead process until the guard told etcd. The clock of
  /// the guard's host measures this time. The time until this node knew is not included; it is
  /// mostly milliseconds. Otherwise unset, for example if the leader's next process proved the
  /// death.
  std::optional<std::chrono::nanoseconds> detect{};
  friend bool operator==(const Transition&, const Transition&) = default;
};

}  // namespace baton

template <>
struct std::hash<baton::ShardId> {
  std::size_t operator()(const baton::ShardId& id) const noexcept {
    return std::hash<std::uint32_t>{}(id.value);
  }
};
