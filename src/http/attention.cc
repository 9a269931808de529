#include "http/attention.h"

#include <algorithm>
#include <optional>
#include <tuple>

namespace baton::http {
namespace {

using runtime::ShardStatus;

std::optional<Problem> ProblemOf(const ShardStatus& shard, Duration lasted) {
  if (shard.quarantined) return Problem::kUnreadable;
  if (shard.failing && shard.state != ShardState::kSuspended) return Problem::kFailing;
  switch (shard.state) {
    case ShardState::kLeaderless: return Problem::kLeaderless;
    case ShardState::kSuspended: return Problem::kSuspended;
    case ShardState::kMoving:
      if (lasted >= kLongMove) return Problem::kMoving;
      break;
    case ShardState::kActivating:
      if (lasted >= kLongActivation) return Problem::kActivating;
      break;
    case ShardState::kLed: break;
  }
  return std::nullopt;
}

}  // namespace

const char* ToString(Problem problem) {
  switch (problem) {
    case Problem::kUnreadable: return "unreadable";
    case Problem::kLeaderless: return "leaderless";
    case Problem::kSuspended: return "suspended";
    case Problem::kFailing: return "failing";
    case Problem::kMoving: return "moving";
    case Problem::kActivating: return "activating";
  }
  return "unknown";
}

std::vector<SickShard> SickShards(const runtime::NodeStatus& status, const ShardAges& ages) {
  std::vector<const ShardStatus*> suspects;
  for (const ShardStatus& shard : status.shards) {
    if (shard.quarantined || shard.state != ShardState::kLed) suspects.push_back(&shard);
  }
  const auto ages_of = ages.Of(suspects);
  std::vector<SickShard> sick;
  for (const ShardStatus* shard : suspects) {
    ShardAge age = ages_of.at(shard->shard.value);
    const auto problem = ProblemOf(*shard, age.lasted);
    if (!problem) continue;
    if (*problem == Problem::kFailing) age = {.lasted = shard->failing->lasted, .at_least = false};
    sick.push_back({shard, *problem, age});
  }
  std::sort(sick.begin(), sick.end(), [](const SickShard& left, const SickShard& right) {
    return std::tuple(left.problem, -left.age.lasted, left.shard->shard) <
           std::tuple(right.problem, -right.age.lasted, right.shard->shard);
  });
  return sick;
}

}  // namespace baton::http
