// `batonctl plan -f STATE.json`: shows what a group would do in a made-up state. Pure; any thread.
//
// Calls the same functions as the nodes (ruled_group.h). First every vacancy is claimed, then moves
// are planned.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "baton/result.h"

namespace baton::app {

/// Bounds of a made-up state. The most shards are kMaxShards.
inline constexpr std::uint32_t kMaxPlanNodes = 10'000;
inline constexpr std::size_t kMaxPlanBytes = 256u << 20;

/// Plans for a state such as
///   {"shards":12,"nodes":[{"id":"a","weight":1,"state":"active","zone":"x",
///    "labels":{"disk":"ssd"}}],"leaders":{"0":"a","1":null},"ready":{"0":["b"]},
///    "placement":{"rules":[{"shards":["0-2"],"require":{"zone":["x"]}}]},
///    "limits":{"max_moves":10}}
/// `shards`, `nodes` and each node's `id` are required. `weight` is a whole number, by default 1; a
/// node with weight 0 gets no shards. `state` is "active" (the default), "draining" or "dead"; a
/// dead node has no effect. `zone` and `labels` matter only to `placement`. A shard is vacant if
/// its leader is null, absent, dead, or not one of `nodes`. `ready` says which nodes are ready
/// standbys for a shard. An entry has an effect only if the shard is vacant, its rule asks for
/// standbys, and Baton would choose this node as one of them. `ready` may name dead and unknown
/// nodes, without an effect. `placement` has the group's placement rules, as PlacementJson writes
/// them. Other JSON that ParsePlacement takes is accepted, too, if its values are texts and whole
/// numbers. Without `limits`, any number of moves is planned.
///
/// Returns one line of JSON, without a line feed:
///   {"claims":[{"shard":1,"to":"a"}],"moves":[{"shard":0,"from":"a","to":"b",
///    "reason":"rebalance"}],"before":{"a":2},"after":{"a":1,"b":1}}
/// Claims are sorted by shard number, and moves by urgency. `before` and `after` count the shards
/// that each node leads in the given state and in the end; nodes without shards are left out. The
/// order of `nodes` doesn't matter.
///
/// If the state has `placement`, each claim and move has two more fields: `"rule":1`, the number
/// (from 1) of the rule that counts for its shard, or null; and `"why":"rule_forbids"`, the kind of
/// its cause. The answer then also names the shards that nobody may begin to lead, whether somebody
/// leads them now or not:
///   "nobody_may_lead":[{"rule":1,"require":"zone=x","shards":["0-2"]}]
/// An entry for shards without a rule has `"rule":null` and `"require":"any node"`.
///
/// If the state has `ready`, each claim also has `"ready_standby":true` or false: whether a ready
/// standby makes it.
///
/// kInvalidArgument: the text is not JSON, a value is wrong or out of bounds, a field is unknown,
/// or two nodes have one id. The message is one line: the path in the document, what is wrong, and
/// what was expected.
Result<std::string> PlanFromState(std::string_view json);

}  // namespace baton::app
