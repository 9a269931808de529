// Attention: the shards that need attention, the worst first. The node's page shows them at the
// top.
//
// Pure; any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "http/shard_ages.h"
#include "runtime/control.h"

namespace baton::http {

/// The problem of a shard, the worst first.
enum class Problem : std::uint8_t {
  kUnreadable,  ///< the shard's record in etcd can't be read
  kLeaderless,  ///< nobody leads the shard
  kSuspended,   ///< the leader has stopped until its lease is confirmed
  kFailing,     ///< the leader's `acquired` failed, and is called again and again
  kMoving,      ///< the shard has been in ShardState::kMoving for kLongMove or longer
  kActivating,  ///< the leader's `acquired` runs for kLongActivation or longer
};
inline constexpr int kProblemCount = 6;
/// "unreadable", "leaderless", "suspended", "failing", "moving" or "activating".
const char* ToString(Problem problem);

/// In a healthy group, moves and activations take much less than this. The node's own timeouts for
/// moves and callbacks are longer: by default 30 s and more.
inline constexpr std::chrono::seconds kLongMove{10};
inline constexpr std::chrono::seconds kLongActivation{10};

struct SickShard {
  const runtime::ShardStatus* shard = nullptr;  ///< points into the examined status
  Problem problem = Problem::kLeaderless;
  /// How long the shard has been in its present term and state. kFailing: the leader's time since
  /// the first failed attempt.
  ShardAge age;
};

/// Returns all shards that need attention, sorted by problem, then the longest first, then by
/// number. Each shard is listed once, with its worst problem. One exception: a failing shard counts
/// as kFailing, unless it is kUnreadable or kSuspended. REQUIRES: the status has its shards, and
/// outlives the result.
std::vector<SickShard> SickShards(const runtime::NodeStatus& status, const ShardAges& ages);

}  // namespace baton::http
