// SickShards: finds the shards that need attention. The node's page shows them at the top.
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

/// A shard's problem. The worst problem comes first.
enum class Problem : std::uint8_t {
  kUnreadable,  ///< the shard's record in etcd can't be read
  kLeaderless,  ///< nobody leads the shard
  kSuspended,   ///< the leader may not act until its lease is confirmed
  kFailing,     ///< `Acquired` failed, and will be called again; only the leader sees this
  kMoving,      ///< this process has seen the shard in kMoving for kLongMove or longer
  kActivating,  ///< `Acquired` has run for kLongActivation or longer; only the leader sees this
};
inline constexpr int kProblemCount = 6;
/// "unreadable", "leaderless", "suspended", "failing", "moving" or "activating".
const char* ToString(Problem problem);

/// In a healthy group, moves and activations take much less time than this. The node's own timeouts
/// for them are longer: by default 30 s and more.
inline constexpr std::chrono::seconds kLongMove{10};
inline constexpr std::chrono::seconds kLongActivation{10};

struct SickShard {
  const runtime::ShardStatus* shard = nullptr;  ///< points into the examined status
  Problem problem = Problem::kLeaderless;
  /// How long the shard has been in its present term and state. For kFailing: the time since the
  /// first failed attempt.
  ShardAge age;
};

/// Returns all shards that need attention, each with its worst problem. (But a failing shard
/// without a leader counts as kFailing.) The order: by problem, then by age with the greatest age
/// first, then by number. REQUIRES (not checked): `status` has its shards, and outlives the result.
std::vector<SickShard> SickShards(const runtime::NodeStatus& status, const ShardAges& ages);

}  // namespace baton::http
