// Bounds of a group and of its members' settings, each in one place: options, flags, routes and
// plans are held against the same ones.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace baton {

/// Shards of a group. A damaged count must not allocate a huge table.
inline constexpr std::uint32_t kMaxShards = 1'000'000;
/// Transitions that a node or relay remembers.
inline constexpr std::uint32_t kMaxHistory = 1'000'000;
/// Moves in flight that a node may allow.
inline constexpr std::uint32_t kMaxMoves = 100'000;
/// Live members that an operator may expect.
inline constexpr std::uint32_t kMaxExpectedNodes = 100'000;
/// The group's failover delay (FailoverSettings::delay).
inline constexpr std::chrono::milliseconds kShortestFailoverDelay = std::chrono::seconds(1);
inline constexpr std::chrono::milliseconds kLongestFailoverDelay = std::chrono::hours(24);
/// The group's lock delay (FailoverSettings::lock_delay); 0: none.
inline constexpr std::chrono::milliseconds kLongestLockDelay = std::chrono::hours(1);
inline constexpr std::uint32_t kMaxWeight = 1'000'000;
/// The longest TTL that a node may ask for.
inline constexpr std::chrono::seconds kLongestTtlOption{3600};
/// Endpoints of an etcd, or of a group that a router follows.
inline constexpr std::size_t kMaxEndpoints = 64;
/// Members that a cold start may wait for.
inline constexpr std::uint32_t kMaxColdStartNodes = 10'000;
/// The longest duration that an option may have: far from the end of the clock, so that sums of a
/// time and some of these can't overflow.
inline constexpr std::chrono::milliseconds kLongestDurationOption = std::chrono::hours(24 * 366);
/// The same for a flag of batond: longer ones are mistakes in typing.
inline constexpr std::chrono::milliseconds kLongestDurationFlag = std::chrono::hours(24);
/// A longer timeout than a year counts as a year, so that no sum of times overflows.
inline constexpr std::chrono::milliseconds kLongestTimeout = std::chrono::hours(24 * 365);

/// The shortest timeout for a hang of the node, unless it is 0 (never). A loop that carries out a
/// large change takes some ten milliseconds, and a busy machine lets processes wait.
inline constexpr std::chrono::milliseconds kShortestHangTimeout{500};

}  // namespace baton
