// The types of Baton's model: shards, nodes, sessions, revisions, terms, reasons.
//
// All types are plain values: copyable, comparable, and safe to read from several threads at once.
// Each number has a type of its own. So the compiler refuses a Term in the place of a Revision,
// although both are numbers that etcd counts.
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

/// An etcd revision: a number that grows with each commit that changes the store. 0: none.
struct Revision {
  std::int64_t value = 0;
  friend auto operator<=>(const Revision&, const Revision&) = default;
};

/// The number of one leadership of one shard, and its fencing token: the mod revision of the
/// leadership's record in etcd. A shard's next leadership always has a greater term, and every
/// reader sees the same term. One exception: an etcd that was wiped or restored from a backup may
/// repeat terms (docs/operating.md). Terms of different shards may be equal. 0: no leadership.
struct Term {
  std::int64_t value = 0;
  friend auto operator<=>(const Term&, const Term&) = default;
};

/// A node's session: the id of its etcd lease. No id is used twice. 0: none.
struct SessionId {
  std::int64_t value = 0;
  friend auto operator<=>(const SessionId&, const SessionId&) = default;
};

/// A node's name: 1 to 128 ASCII letters, digits, '-', '_' and '.'; neither "." nor "..". Empty: no
/// node.
using NodeId = std::string;

/// Why a shard's leadership changed. Metrics, log lines, records and listeners all use this enum.
enum class Reason : std::uint8_t {
  kStartup,          ///< there was no record, or the new leader never saw the previous leader alive
  kLeaseExpired,     ///< the leader's session ended without a resignation
  kProcessDied,      ///< the leader's process was proven dead, by its guard or its next process
  kRebalance,        ///< moved by the balancer: for balance, or because of a placement rule
  kDrain,            ///< moved off a node that an operator drains, or that is not healthy
  kShutdown,         ///< given away by a node that drains or stops, or lost by a node that halts
  kOperator,         ///< moved or released by an operator; or its record was damaged or deleted
  kCallbackTimeout,  ///< given away because Acquired failed or took too long. If the group has a
                     ///< lock delay (`batonctl group set`), also: resigned because Releasing
                     ///< failed or took too long
  kSuspended,        ///< the leader's deadline passed on its clock, without a confirmed renewal
  kResumed,          ///< a late renewal was confirmed, with the same term; or a handoff was undone
};
inline constexpr int kReasonCount = 10;

/// The reason's word in metrics, logs and JSON, for example "lease_expired". Never null.
BATON_EXPORT const char* ToString(Reason reason);

/// A member's state, as its own record in etcd says.
enum class MemberState : std::uint8_t {
  kActive,    ///< takes shards
  kDraining,  ///< gives its shards away and takes none
  kDead       ///< its process was proven dead
};
/// "active", "draining" or "dead".
BATON_EXPORT const char* ToString(MemberState state);

/// A shard's state as routes and tables show it. A node knows kActivating and kSuspended only of
/// the shards that it leads itself. Other nodes show such a shard as kLed or kMoving.
enum class ShardState : std::uint8_t {
  kLed,         ///< the shard has a leader, whose Acquired callback has returned
  kActivating,  ///< the shard's leader may act, but its Acquired callback has not succeeded yet
  kMoving,      ///< it has a leader, and a move is in flight; in tables also: its leader resigns it
  kSuspended,   ///< the leader has stopped: its lease is not confirmed, or it has lost its session
  kLeaderless,  ///< the shard has no leader
};
/// "led", "activating", "moving", "suspended" or "leaderless".
BATON_EXPORT const char* ToString(ShardState state);

/// A node's own leadership of a shard, as the node knows it at one moment.
struct Leadership {
  ShardId shard;
  Term term;           ///< the fencing token; 0 unless `leads`
  bool leads = false;  ///< the node may act as leader now (see Node::Leads)
  /// `leads` is true, and the listener's Acquired has returned. Without a listener it equals
  /// `leads`. Like `leads` it stays true while Releasing runs, and for a moment afterwards. Begin
  /// no new work once Releasing has begun. If the node then keeps the shard, `activated` is false
  /// until Acquired has returned once more.
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
/// Each change is counted by one node at most: the node that gained the shard. Counting means that
/// the change goes to this node's log, metrics and listener. Without a listener, the node counts
/// the change at once. With a listener, it counts the change once the first Acquired of this term
/// has returned, thrown or exceeded callback_timeout, or once the node has lost the shard. If the
/// node dies before that, nobody counts the change.
///
/// A node also counts its own kSuspended (`to` is empty) and kResumed (`from` is empty). If nobody
/// may take the shard over (all members have weight 0, placement rules forbid it, or the failover
/// setting is `never`), the balancer counts the loss (`to` is empty).
struct Transition {
  ShardId shard;
  Reason reason = Reason::kStartup;
  NodeId from{};  ///< the previous leader; empty: none
  NodeId to{};    ///< the leader now; empty: none
  Term term{};    ///< of the leadership of `to`; if `to` is empty, of the ended or suspended one
  /// The operator who asked for the change, also by a drain or `rebalance apply`. If the shard's
  /// damaged record was replaced: "baton (damaged record replaced)". Otherwise empty.
  std::string actor{};
  /// Why the shard went to `to`. For kSuspended and kResumed, and if `to` is empty: kUnknown.
  Cause cause{};
  /// How long the shard had no leader, by this node's clock: from when the node saw that nobody led
  /// until it saw the new leader. 0 if the node never saw the shard without a leader in between, as
  /// in each planned move, and if `to` is empty. For kResumed: how long this node was suspended.
  std::chrono::nanoseconds elect{0};
  /// How long activation took: from when this node saw the new leader until Acquired returned, by
  /// its own clock. 0 if the first Acquired threw or exceeded callback_timeout, if the shard was
  /// lost before Acquired returned, or without a listener. For kResumed, and if `to` is empty: 0.
  std::chrono::nanoseconds activate{0};
  /// Set if the previous leader's lease ended (kLeaseExpired): at most this long passed from the
  /// leader's death until this node knew of it. The exact time is unknown, because only the dead
  /// leader saw its own renewals. Unset if this node knows no bound, for example because it started
  /// later, or its watch missed the death.
  std::optional<std::chrono::nanoseconds> detect_at_most{};
  /// Set if the previous leader's guard saw it die (kProcessDied): the time from when the guard got
  /// the lock of the dead process until the guard told etcd, by the clock of the guard's host. The
  /// time from then until this node knew (mostly milliseconds) is not included. Unset if nobody
  /// waited for the death, for example because the leader's next process proved it.
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
