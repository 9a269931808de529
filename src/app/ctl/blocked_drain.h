// Says why the shards of a node that drains stay where they are: no other node takes shards at all,
// or placement rules forbid all that do. Pure; any thread.
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

/// Whether only the shards can tell if placement rules block the drain of `node`: an operator
/// drains it, it leads shards, and some rule forbids all others that can take shards. Does not look
/// at status.shards.
bool RulesMayBlock(const runtime::NodeStatus& status, const NodeId& node);

/// The shards that a node leads, all 0 if the status has no shards.
struct LedShards {
  std::uint32_t blocked = 0;  ///< placement rules forbid all others that can take shards
  std::uint32_t movable = 0;  ///< all other shards, also those with a move in flight
  /// The numbers of the rules that block, from 1.
  std::vector<std::uint32_t> rules = {};
};
LedShards LedBy(const runtime::NodeStatus& status, const NodeId& node);

/// "rule 1 (zone=a)", "rules 1 (zone=a) and 3 (disk=ssd)", or "rules 1 (zone=a), 3 (disk=ssd), 4
/// (rack=r7) and 2 more". REQUIRES: `rules` are numbers of rules of the status, at least one.
std::string RuleWords(const runtime::NodeStatus& status, const std::vector<std::uint32_t>& rules);

}  // namespace baton::app
