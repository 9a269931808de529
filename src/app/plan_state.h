// `batonctl plan -f STATE.json`: what would be done with a made-up state. Pure; any thread.
//
// It calls the very functions that the nodes call (core/division.h), so the answer is what a group
// in that state would do: first every vacancy is claimed, then moves are planned.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "baton/result.h"

namespace baton::app {

/// Bounds of a made-up state.
inline constexpr std::uint32_t kMaxPlanShards = 1'000'000;
inline constexpr std::uint32_t kMaxPlanNodes = 10'000;
inline constexpr std::size_t kMaxPlanBytes = 256u << 20;

/// Takes
///   {"shards":12,"nodes":[{"id":"a","weight":1,"state":"active"}],"leaders":{"0":"a","1":null},
///    "limits":{"max_moves":10}}
/// where `shards`, `nodes` and each node's `id` are required; weight is 1 and state "active" unless
/// said otherwise ("draining", or "dead": like a node that is not there). A leader that is null,
/// absent, or not among the living nodes is a vacancy. Without `limits`, no limit.
///
/// Returns one line of JSON, without a line feed:
///   {"claims":[{"shard":1,"to":"a"}],"moves":[{"shard":0,"from":"a","to":"b",
///    "reason":"rebalance"}],"before":{"a":2},"after":{"a":1,"b":1}}
/// Claims are by shard number; moves, planned after the claims, by urgency; `before` and `after`
/// are how many shards each node leads in the state given and in the end, by id, without those that
/// lead none. The answer does not depend on the order of `nodes`.
///
/// Errors (kInvalidArgument) are one line: the path in the document, what is wrong, what was
/// expected. A field that is not honoured is refused by name.
Result<std::string> PlanFromState(std::string_view json);

}  // namespace baton::app
