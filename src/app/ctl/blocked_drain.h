// Says why the shards of a draining node stay on this node: no other node can take shards, or
// placement rules forbid all other nodes that can. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "baton/types.h"
#include "runtime/control.h"

namespace baton::app {

/// Whether some other live member than `node` can take shards: its weight is above 0, and it is not
/// draining, drained or unhealthy. Ignores placement rules.
bool HasOtherCandidate(const runtime::NodeStatus& status, const NodeId& node);

/// Whether placement rules may block the drain of `node`. If true, LedBy on a status with shards
/// says whether they do. Does not look at status.shards. True if all of these hold:
///  - An operator drains `node`, and `node` leads shards.
///  - Other nodes can take shards (HasOtherCandidate), but some rule forbids all of them.
bool RulesMayBlock(const runtime::NodeStatus& status, const NodeId& node);

/// Counts of the shards that a node leads. All counts are 0 if the status has no shards.
struct LedShards {
  std::uint32_t blocked = 0;  ///< a placement rule forbids all other nodes that can take shards
  std::uint32_t movable = 0;  ///< all other shards of the node, also shards with a move in flight
  /// The numbers of the rules that block shards, from 1, in ascending order.
  std::vector<std::uint32_t> rules = {};
};
/// REQUIRES (not checked): HasOtherCandidate is true. Otherwise every rule counts as one that
/// blocks.
LedShards LedBy(const runtime::NodeStatus& status, const NodeId& node);

/// Returns "rule 1 (zone=a)", "rules 1 (zone=a) and 3 (disk=ssd)", or "rules 1 (zone=a), 3
/// (disk=ssd), 4 (rack=r7) and 2 more". REQUIRES: `rules` is not empty (checked). Each number in
/// `rules` is the number of a rule in the status; any other number throws std::out_of_range.
std::string RuleWords(const runtime::NodeStatus& status, const std::vector<std::uint32_t>& rules);

}  // namespace baton::app
