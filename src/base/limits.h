// Bounds of groups, options and flags. A value equal to the bound is allowed. An option or flag
// beyond its bound is refused, unless the comment says otherwise.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace baton {

/// The most shards of a group. A damaged count above this can't make us allocate a huge table.
inline constexpr std::uint32_t kMaxShards = 1'000'000;
/// The most events that a node or relay may keep (--history).
inline constexpr std::uint32_t kMaxHistory = 1'000'000;
/// The most moves in flight that an option or an operator may allow (max-moves).
inline constexpr std::uint32_t kMaxMoves = 100'000;
/// The most live members that an operator may expect (expected-nodes).
inline constexpr std::uint32_t kMaxExpectedNodes = 100'000;
/// Bounds of the group's failover delay (FailoverSettings::delay).
inline constexpr std::chrono::milliseconds kShortestFailoverDelay = std::chrono::seconds(1);
inline constexpr std::chrono::milliseconds kLongestFailoverDelay = std::chrono::hours(24);
/// The longest lock delay of a group (FailoverSettings::lock_delay).
inline constexpr std::chrono::milliseconds kLongestLockDelay = std::chrono::hours(1);
/// The greatest weight of a node. The smallest is 0 (see MayClaim in core/may_claim.h).
inline constexpr std::uint32_t kMaxWeight = 1'000'000;
/// The longest TTL that a node may ask for. The shortest is 1 s.
inline constexpr std::chrono::seconds kLongestTtlOption{3600};
/// The most endpoints that a program may have for etcd, or that a router may have for a group.
inline constexpr std::size_t kMaxEndpoints = 64;
/// The most members that a cold start may wait for.
inline constexpr std::uint32_t kMaxColdStartNodes = 10'000;
/// The longest duration in the options of a program (NodeOptions, RouterOptions). A time plus
/// several such durations can't overflow.
inline constexpr std::chrono::milliseconds kLongestDurationOption = std::chrono::hours(24 * 366);
/// The longest duration in batond's flags. Also the longest rebalance delay and cooldown that an
/// operator can set. Anything longer is a typing mistake.
inline constexpr std::chrono::milliseconds kLongestDurationFlag = std::chrono::hours(24);
/// The longest timeout of a call to the library. A longer timeout is not refused, but counts as
/// this long. So no sum of times overflows.
inline constexpr std::chrono::milliseconds kLongestTimeout = std::chrono::hours(24 * 365);

/// The shortest hang timeout of a node; 0 (never) is allowed, too. The node's loop needs some 10 ms
/// for a large change, and on a busy machine it also waits for a processor.
inline constexpr std::chrono::milliseconds kShortestHangTimeout{500};

/// The shortest watchdog of an application; 0 (no watchdog) is allowed, too. On a busy machine a
/// process may wait for a processor for tens of milliseconds. With a shorter watchdog, the node
/// would hardly ever lead.
inline constexpr std::chrono::milliseconds kShortestWatchdog{100};

}  // namespace baton
