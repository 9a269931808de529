// `batonctl plan -f STATE.json`: shows what a group would do in a made-up state. Pure; any thread.
//
// It calls the same functions as the nodes (core/assignment.h): first every vacancy is claimed,
// then moves are planned.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "baton/result.h"

namespace baton::app {

/// Bounds of a made-up state. It has at most kMaxShards shards.
inline constexpr std::uint32_t kMaxPlanNodes = 10'000;
inline constexpr std::size_t kMaxPlanBytes = 256u << 20;

/// Plans for a state such as
///   {"shards":12,"nodes":[{"id":"a","weight":1,"state":"active"}],"leaders":{"0":"a","1":null},
///    "limits":{"max_moves":10}}
/// `shards`, `nodes` and each node's `id` are required. The default weight is 1. `state` is
/// "active" (the default), "draining" or "dead", which is the same as leaving the node out. A shard
/// is vacant if its leader is null, absent or not a living node. Without `limits` there is no
/// limit.
///
/// Returns one line of JSON, without a line feed:
///   {"claims":[{"shard":1,"to":"a"}],"moves":[{"shard":0,"from":"a","to":"b",
///    "reason":"rebalance"}],"before":{"a":2},"after":{"a":1,"b":1}}
/// Claims are sorted by shard number. Moves are planned after the claims and sorted by urgency.
/// `before` and `after` count the shards that each node leads in the given state and in the end;
/// nodes that lead none are left out. The order of `nodes` doesn't matter.
///
/// kInvalidArgument: the message is one line with the path in the document, what is wrong and what
/// was expected. Unknown fields are refused by name.
Result<std::string> PlanFromState(std::string_view json);

}  // namespace baton::app
