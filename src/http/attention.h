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

/// What is wrong with a shard, the worst first.
enum class Problem : std::uint8_t {
  kUnreadable,  ///< its record can't be read
  kLeaderless,  ///< nobody leads
  kSuspended,   ///< its leader has stopped until its lease is confirmed
  kFailing,     ///< its leader's `acquired` failed, and is tried again and again
  kMoving,      ///< on its way to another node, for longer than kLongMove
  kActivating,  ///< its leader's `acquired` runs for longer than kLongActivation
};
inline constexpr int kProblemCount = 6;
/// "unreadable", "leaderless", "suspended", "failing", "moving" or "activating".
const char* ToString(Problem problem);

/// Far above what a move or a callback takes in a healthy group, and below the times after which
/// the node gives it up (30 s and more by default).
inline constexpr std::chrono::seconds kLongMove{10};
inline constexpr std::chrono::seconds kLongActivation{10};

struct SickShard {
  const runtime::ShardStatus* shard = nullptr;  ///< points into the examined status
  Problem problem = Problem::kLeaderless;
  ShardAge age;  ///< of kFailing: since its first attempt failed, as its leader says
};

/// All shards that need attention: by problem, then the longest first, then by number. REQUIRES:
/// the status has its shards, and outlives the answer.
std::vector<SickShard> SickShards(const runtime::NodeStatus& status, const ShardAges& ages);

}  // namespace baton::http
