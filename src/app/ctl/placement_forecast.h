// PlacementForecast: what a group would do if it had other placement rules.
//
// Computed from a node's status by the functions that the nodes use, too (ruled_group.h), as if all
// moves could begin at once. It ignores what ends by itself: delays, cooldowns, and that some nodes
// get no shards for a while. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <boost/json/array.hpp>

#include "app/ctl/ruled_group.h"
#include "app/ctl/table.h"
#include "base/placement.h"
#include "baton/types.h"
#include "runtime/control.h"

namespace baton::app {

struct RuleForecast {
  std::uint32_t shards = 0;    ///< how many shards the rule decides about
  std::uint32_t may_lead = 0;  ///< how many live nodes fit the rule's `require`
  std::vector<NodeId> wanted;  ///< nodes that should lead these shards now; empty: no node may
  std::size_t preference = 0;  ///< which of the rule's preferences these nodes fit, from 1; 0: none
  std::size_t may_stand_by = 0;  ///< how many live nodes may lead or stand by for these shards
};

/// A shard that nobody leads gets a leader.
struct ClaimForecast {
  ShardId shard;
  NodeId to;
  std::uint32_t rule = 0;  ///< the rule that decides about the shard, from 1; 0: no rule does
  CauseKind why = CauseKind::kHasRoom;
  bool ready() const { return why == CauseKind::kReadyStandby; }
};

struct MoveForecast {
  ShardId shard;
  NodeId from;
  NodeId to;
  CauseKind why = CauseKind::kBalance;
  std::uint32_t rule = 0;  ///< the rule that decides about the shard, from 1; 0: no rule does
};

struct NodeForecast {
  NodeId node;
  std::uint32_t leads = 0;
  std::uint32_t gives = 0;
  std::uint32_t gets = 0;  ///< by moves, and by claims of shards that nobody leads now
  std::uint32_t then() const { return leads - gives + gets; }
};

struct PlacementForecast {
  std::vector<RuleForecast> rules;  ///< in the order of the rules
  std::uint32_t without_rule = 0;   ///< how many shards no rule decides about
  std::vector<ShardRange> nobody;   ///< shards that no live node may begin to lead, by number
  std::uint32_t nobody_count = 0;   ///< how many shards `nobody` has
  std::vector<ClaimForecast> claims;
  std::vector<MoveForecast> moves;  ///< urgent ones first
  std::vector<NodeForecast> nodes;  ///< live ones, by id
  std::vector<NodeId> leaders;      ///< in the end, by shard number; empty: nobody
};

/// REQUIRES: CheckPlacement(placement); the status has all shards.
PlacementForecast Foresee(const runtime::NodeStatus& status, const Placement& placement);

/// "0-99, 120 and 5 more ranges": names 20 of them.
std::string RangeWords(const std::vector<ShardRange>& ranges);
/// "n1, n2 and 5 more": names 8 of them.
std::string NodeNames(const std::vector<NodeId>& nodes);

/// A line for each rule that lets no live node begin to lead its shards, and a last line that names
/// all these shards. Empty if there is no such rule.
std::vector<std::string> InfeasibleLines(const PlacementForecast& forecast,
                                         const Placement& placement);
/// A line for each rule that asks for more standbys than live nodes may be. Empty if there is none.
std::vector<std::string> TooFewStandbyLines(const PlacementForecast& forecast,
                                            const Placement& placement);
/// "2 by zone"; "-" if the rule asks for none.
std::string StandbysText(const PlacementRule& rule);
/// Whether some rule asks for standbys.
bool AsksForStandbys(const Placement& placement);
/// "12 shards would move: 8 because a rule forbids their leader, 4 to spread shards evenly".
std::string MoveWords(const PlacementForecast& forecast);
Table RulesTable(const PlacementForecast& forecast, const Placement& placement);
Table NodesTable(const PlacementForecast& forecast);
Table MovesTable(const PlacementForecast& forecast);
/// The parts of ForecastJson that a simulation has, too.
boost::json::array RulesJson(const PlacementForecast& forecast, const Placement& placement);
boost::json::array MovesJson(const PlacementForecast& forecast);
/// One line: {"rules":[…],"without_rule":…,"nobody_may_lead":…,"nobody_may_lead_shards":[…],
/// "claims":…,"moves":[…],"nodes":[…]}.
std::string ForecastJson(const PlacementForecast& forecast, const Placement& placement);

}  // namespace baton::app
