// Says why the shards of a draining node stay on this node. Either no other node can take shards at
// all, or placement rules forbid every other node that can. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "baton/types.h"
#include "runtime/control.h"

namespace baton::app {

/// Whether a member other than `node` can take shards: it is live, its weight is not 0, and it
/// neither leaves nor is drained. Ignores placement rules.
bool HasOtherCandidate(const runtime::NodeStatus& status, const NodeId& node);

/// Whether placement rules may block the drain of `node`. If so, LedBy on a status with shards
/// tells whether they do. True if an operator drains `node`, it leads shards, another node can take
/// shards (HasOtherCandidate), and some rule forbids all nodes that can. Does not look at
/// status.shards.
bool RulesMayBlock(const runtime::NodeStatus& status, const NodeId& node);

/// Counts of the shards that a node leads. All are 0 if the status has no shards.
struct LedShards {
  std::uint32_t blocked = 0;  ///< a placement rule forbids all others that can take shards
  std::uint32_t movable = 0;  ///< all other shards of the node, also those with a move in flight
  /// The numbers of the rules that block shards, from 1, in ascending order.
  std::vector<std::uint32_t> rules = {};
};
/// REQUIRES (not checked): HasOtherCandidate; otherwise every rule counts as one that blocks.
LedShards LedBy(const runtime::NodeStatus& status, const NodeId& node);

/// Returns "rule 1 (zone=a)", "rules 1 (zone=a) and 3 (disk=ssd)", or "rules 1 (zone=a), 3
/// (disk=ssd), 4 (rack=r7) and 2 more". REQUIRES: `rules` is not empty (checked), and each is the
/// number of a rule of the status (another number throws std::out_of_range).
std::string RuleWords(const runtime::NodeStatus& status, const std::vector<std::uint32_t>& rules);

}  // namespace baton::app
