// Attention: the shards that need attention. The node's page shows them at the top, the worst
// first.
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
  kFailing,     ///< `acquired` of the leader failed, and is called again; seen only on the leader
  kMoving,      ///< this process has seen the shard in kMoving for kLongMove or longer
  kActivating,  ///< `acquired` of the leader has run for kLongActivation; seen only on the leader
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
  /// How long the shard has been in its present term and state. For kFailing: the time since the
  /// first failed attempt.
  ShardAge age;
};

/// Returns all shards that need attention. They are sorted by problem. Shards with the same problem
/// are sorted by age, the greatest first, and then by number. Each shard is listed once, with its
/// worst problem. One exception: a failing shard counts as kFailing, unless it is kUnreadable or
/// kSuspended. REQUIRES: the status has its shards, and outlives the result.
std::vector<SickShard> SickShards(const runtime::NodeStatus& status, const ShardAges& ages);

}  // namespace baton::http
