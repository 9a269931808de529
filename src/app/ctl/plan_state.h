// `batonctl plan -f STATE.json`: shows what a group would do in a made-up state. Pure; any thread.
//
// Calls the same functions as the nodes (ruled_group.h): plans first the claims of all vacancies,
// and then moves.
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
///   {"shards":12,"nodes":[{"id":"a","weight":1,"state":"active","zone":"x",
///    "labels":{"disk":"ssd"}}],"leaders":{"0":"a","1":null},"ready":{"0":["b"]},
///    "placement":{"rules":[{"shards":["0-2"],"require":{"zone":["x"]}}]},
///    "limits":{"max_moves":10}}
/// `shards`, `nodes` and each node's `id` are required. `weight` is a whole number from 0 to
/// 4,294,967,295, by default 1. A node with weight 0 gets no shards. `state` is "active" (the
/// default), "draining" or "dead"; a dead node has no effect. `zone` and `labels` have an effect
/// only with `placement`. A shard is vacant if its leader is null, absent, dead, or not one of
/// `nodes`. `ready` says which nodes are ready standbys for a shard. An entry has an effect only if
/// the shard is vacant, the shard's rule asks for standbys, and Baton would choose this node as one
/// of the standbys. `ready` may name dead and unknown nodes; these have no effect. `placement` has
/// the group's placement rules, as PlacementJson (placement_file.h) writes them. Any other form
/// that ParsePlacement takes is allowed, too, if all values are texts and whole numbers.
/// `max_moves` is the most moves that are planned. Without it, there is no limit.
///
/// Returns one line of JSON, without a line feed:
///   {"claims":[{"shard":1,"to":"a"}],"moves":[{"shard":0,"from":"a","to":"b",
///    "reason":"rebalance"}],"before":{"a":2},"after":{"a":1,"b":1}}
/// Claims are sorted by shard number, and moves by urgency. `before` counts the shards that each
/// node leads in the given state. `after` counts the shards that it leads in the end. Nodes without
/// shards are left out. The order of `nodes` doesn't matter.
///
/// If the state has `placement`, each claim and move has two more fields. `"rule":1` is the number
/// (from 1) of the rule that counts for the shard, or null. `"why":"rule_forbids"` is the kind of
/// the cause. The answer also names the shards that nobody may begin to lead, even if somebody
/// leads them now:
///   "nobody_may_lead":[{"rule":1,"require":"zone=x","shards":["0-2"]}]
/// An entry for shards without a rule has `"rule":null` and `"require":"any node"`.
///
/// If the state has `ready`, each claim also has the field `"ready_standby"`, which says whether
/// the claiming node is a ready standby.
///
/// kInvalidArgument: the text is not JSON, a value is wrong or out of bounds, a field is unknown,
/// or two nodes have one id. The message is one line. It has the path in the document, what is
/// wrong, and what was expected.
Result<std::string> PlanFromState(std::string_view json);

}  // namespace baton::app
