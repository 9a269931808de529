// PlacementForecast: what a group would do if it had other placement rules.
//
// Computed from a node's status by the same functions as the nodes use (core/pools.h,
// core/assignment.h), as if all moves could begin at once. It does not know what passes by itself:
// nodes that get nothing for now, delays and cooldowns. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/ctl/table.h"
#include "base/placement.h"
#include "baton/types.h"
#include "runtime/control.h"

namespace baton::app {

struct RuleForecast {
  std::uint32_t shards = 0;    ///< how many shards it counts for
  std::uint32_t may_lead = 0;  ///< how many live nodes fit its `require`
  std::vector<NodeId> wanted;  ///< nodes that should lead its shards now; empty: nobody may
  std::size_t preference = 0;  ///< which preference these nodes fit, from 1; 0: none
};

struct MoveForecast {
  enum class Why : std::uint8_t {
    kForbidden,  ///< the rule doesn't let its leader begin to lead it
    kPreferred,  ///< the rule prefers other nodes
    kDrain,      ///< its leader drains
    kBalance,    ///< shards are spread evenly
  };
  ShardId shard;
  NodeId from;
  NodeId to;
  Why why = Why::kBalance;
  std::uint32_t rule = 0;  ///< the rule that counts for the shard, from 1; 0: none does
};
/// "rule_forbids", "rule_prefers", "drain", "balance".
const char* ToString(MoveForecast::Why why);

struct NodeForecast {
  NodeId node;
  std::uint32_t leads = 0;
  std::uint32_t gives = 0;
  std::uint32_t gets = 0;  ///< by moves, and of shards that nobody leads now
  std::uint32_t then() const { return leads - gives + gets; }
};

struct PlacementForecast {
  std::vector<RuleForecast> rules;  ///< in the order of the rules
  std::uint32_t without_rule = 0;   ///< how many shards no rule counts for
  std::vector<ShardRange> nobody;   ///< shards that the rules let no live node lead, by number
  std::uint32_t nobody_count = 0;   ///< how many these are
  std::uint32_t claims = 0;         ///< how many shards nobody leads now get a leader
  std::vector<MoveForecast> moves;  ///< urgent ones first
  std::vector<NodeForecast> nodes;  ///< live ones, by id
};

/// REQUIRES: CheckPlacement(placement); the status has all shards.
PlacementForecast Foresee(const runtime::NodeStatus& status, const Placement& placement);

/// A line for each rule that lets no live node lead its shards.
std::vector<std::string> InfeasibleLines(const PlacementForecast& forecast,
                                         const Placement& placement);
/// "12 shards would move: 8 because a rule forbids their leader, 4 to spread shards evenly".
std::string MoveWords(const PlacementForecast& forecast);
Table RulesTable(const PlacementForecast& forecast, const Placement& placement);
Table NodesTable(const PlacementForecast& forecast);
Table MovesTable(const PlacementForecast& forecast);
/// One line: {"rules":[…],"without_rule":…,"nobody_may_lead":…,"nobody_may_lead_shards":[…],
/// "claims":…,"moves":[…],"nodes":[…]}.
std::string ForecastJson(const PlacementForecast& forecast, const Placement& placement);

}  // namespace baton::app
