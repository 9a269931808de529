// Attention: which shards need a look, the worst first. What the node's page puts on top.
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
  kSuspended,   ///< its leader has stopped until its renewal is confirmed
  kMoving,      ///< on its way to another node for longer than kLongMove
  kActivating,  ///< its leader's `acquired` has been running for longer than kLongActivation
};
inline constexpr int kProblemCount = 5;
/// "unreadable", "leaderless", "suspended", "moving" or "activating".
const char* ToString(Problem problem);

/// Below the bounds after which the node itself gives a move or a callback up (30 s and more by
/// default), far above what either takes in a healthy group.
inline constexpr std::chrono::seconds kLongMove{10};
inline constexpr std::chrono::seconds kLongActivation{10};

struct SickShard {
  const runtime::ShardStatus* shard = nullptr;  ///< in the status that was looked at
  Problem problem = Problem::kLeaderless;
  ShardAge age;
};

/// All shards that need a look: by problem, then the longest first, then by number.
std::vector<SickShard> SickShards(const runtime::NodeStatus& status, const ShardAges& ages);

}  // namespace baton::http
