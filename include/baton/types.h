// The words of Baton's model: shards, nodes, sessions, revisions, terms, and why leadership
// changed.
//
// All types here are plain values: copyable, comparable, and safe to read from several threads at
// once. Distinct types keep arguments from being swapped: a Term does not convert to a Revision's
// neighbour by accident, though both count the same thing (etcd's revisions).
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "baton/export.h"

namespace baton {

/// A shard's number, from 0 to the group's shard count minus 1.
struct ShardId {
  std::uint32_t value = 0;
  friend auto operator<=>(const ShardId&, const ShardId&) = default;
};

/// An etcd revision: the count of commits that changed the store. 0: none.
struct Revision {
  std::int64_t value = 0;
  friend auto operator<=>(const Revision&, const Revision&) = default;
};

/// A leadership's number and fencing token: the mod revision of the leadership's record in etcd.
/// It only grows, never repeats, and is the same for every reader. 0: no leadership.
struct Term {
  std::int64_t value = 0;
  friend auto operator<=>(const Term&, const Term&) = default;
};

/// A node's session: the id of its etcd lease, never reused. 0: none.
struct SessionId {
  std::int64_t value = 0;
  friend auto operator<=>(const SessionId&, const SessionId&) = default;
};

/// A node's name: 1 to 128 letters, digits, '-', '_' and '.'; not "." nor "..". Empty: nobody.
using NodeId = std::string;

/// Why a shard's leadership changed. One enum for labels, log lines, records and listeners.
enum class Reason : std::uint8_t {
  kStartup,          ///< first leader of a shard that no live session led
  kLeaseExpired,     ///< the leader's session ended without a word
  kProcessDied,      ///< the leader's process was proven dead and its successor took over
  kRebalance,        ///< moved by the balancer
  kDrain,            ///< moved off a node that an operator drains
  kShutdown,         ///< moved or resigned by a node that stops
  kOperator,         ///< moved by an operator
  kCallbackTimeout,  ///< the application's callback exceeded its bound
  kSuspended,        ///< the local deadline passed without a confirmed renewal
  kResumed,          ///< a late renewal was confirmed: same term as before
};
inline constexpr int kReasonCount = 10;

/// The reason's word in metrics, logs and JSON, for example "lease_expired". Never null.
BATON_EXPORT const char* ToString(Reason reason);

/// What a member says of itself.
enum class MemberState : std::uint8_t { kActive, kDraining, kDead };
/// "active", "draining" or "dead".
BATON_EXPORT const char* ToString(MemberState state);

/// A shard's state as routes and tables show it.
enum class ShardState : std::uint8_t {
  kLed,         ///< a leader leads and its `acquired` callback has returned
  kActivating,  ///< a leader may act; its `acquired` callback still runs
  kMoving,      ///< led, and on its way to another node
  kSuspended,   ///< the leader has stopped until its renewal is confirmed
  kLeaderless,  ///< nobody leads
};
/// "led", "activating", "moving", "suspended" or "leaderless".
BATON_EXPORT const char* ToString(ShardState state);

/// A node's leadership of a shard, as known on that node.
struct Leadership {
  ShardId shard;
  Term term;               ///< 0 where this node does not lead
  bool leads = false;      ///< may act now (see Node::Leads)
  bool activated = false;  ///< and the application's `acquired` has returned
};

/// How keys map to shards; fixed when the group is created.
enum class HashFunction : std::uint8_t { kMurmur2, kXxh3Jump, kModulo };
/// "murmur2", "xxh3-jump" or "modulo".
BATON_EXPORT const char* ToString(HashFunction hash);

/// One change of one shard's leadership, counted once: by the node that gained the shard;
/// `suspended` and `resumed` by the node they happen to; the loss of a shard that no member may
/// take over (all have weight 0) by the balancer. Feeds log, metrics, history and listener.
struct Transition {
  ShardId shard;
  Reason reason = Reason::kStartup;
  NodeId from{};        ///< empty: nobody led
  NodeId to{};          ///< empty: nobody leads now
  Term term{};          ///< the new leadership's, or the ended one's where `to` is empty
  std::string actor{};  ///< who asked, for operator moves; else empty
  /// From this node's first knowledge that nobody led to its leadership (elect), and from there to
  /// the return of `acquired` (activate). Both on this node's clock.
  std::chrono::nanoseconds elect{0};
  std::chrono::nanoseconds activate{0};
  /// Where the leader before died: an upper bound of the time from its death to this node's first
  /// knowledge that nobody led. When it died, nobody knows; it was alive when it last renewed its
  /// lease, and a renewal of this node's shows that it still had one. Unset where this node knows
  /// no bound (it came late, or read of the death instead of seeing it).
  std::optional<std::chrono::nanoseconds> detect_at_most{};
};

}  // namespace baton

template <>
struct std::hash<baton::ShardId> {
  std::size_t operator()(const baton::ShardId& id) const noexcept {
    return std::hash<std::uint32_t>{}(id.value);
  }
};
