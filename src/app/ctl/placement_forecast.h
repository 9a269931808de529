// PlacementForecast: what a group would do if it had other placement rules.
//
// Computed from a node's status by the functions that the nodes use, too (ruled_group.h), as if all
// moves could begin at once. It ignores a pause of balance, and what ends by itself: delays,
// cooldowns, and that some nodes get no shards for a while. Pure; any thread.
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
  std::uint32_t shards = 0;  ///< how many shards the rule decides about
  /// How many live nodes fit the rule's `require`, also draining nodes and nodes of weight 0.
  std::uint32_t may_lead = 0;
  /// The nodes that should lead these shards now, by id; empty: no node may begin to lead them.
  std::vector<NodeId> wanted;
  std::size_t preference = 0;  ///< which of the rule's preferences these nodes fit, from 1; 0: none
  /// How many live nodes may lead or stand by for these shards: they fit `require`, don't drain,
  /// and have a weight above 0.
  std::size_t may_stand_by = 0;
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
  /// The shards that a rule lets no live node begin to lead, by number. A shard without a rule is
  /// never one of them.
  std::vector<ShardRange> nobody;
  std::uint32_t nobody_count = 0;     ///< how many shards `nobody` has
  std::vector<ClaimForecast> claims;  ///< by shard number
  std::vector<MoveForecast> moves;    ///< urgent ones first
  std::vector<NodeForecast> nodes;    ///< live ones, by id
  /// The leader of each shard after all claims and moves, by shard number; an empty id: nobody.
  std::vector<NodeId> leaders;
  /// The names of all labels that live nodes have, also `node` and `zone`; sorted.
  std::vector<std::string> labels;
};

/// REQUIRES: CheckPlacement(placement); the status has all shards, sorted by number (the order is
/// checked).
PlacementForecast Foresee(const runtime::NodeStatus& status, const Placement& placement);

/// "0-99, 120 and 5 more ranges": names the first 20 ranges.
std::string RangeWords(const std::vector<ShardRange>& ranges);
/// "n1, n2 and 5 more": names the first 8 nodes.
std::string NodeNames(const std::vector<NodeId>& nodes);

/// A line for each rule that lets no live node begin to lead its shards, and a last line that names
/// these shards. A rule that decides about no shard has no line. Empty if there is no such rule.
std::vector<std::string> InfeasibleLines(const PlacementForecast& forecast,
                                         const Placement& placement);
/// A line for each rule that names shards which the group lacks, or that decides about no shard.
/// Empty if there is no such rule.
std::vector<std::string> UnusedRuleLines(const PlacementForecast& forecast,
                                         const Placement& placement);
/// A line for each rule that asks for standbys, if too few live nodes may lead or stand by for its
/// shards: it needs one for the leader and one for each standby. No line for a rule that decides
/// about no shard, or lets no node lead. Empty if there is no such rule.
std::vector<std::string> TooFewStandbyLines(const PlacementForecast& forecast,
                                            const Placement& placement);
/// A line for each rule that names labels which no live node has: a typo, maybe. Empty if there is
/// no such rule, or no live node.
std::vector<std::string> UnknownLabelLines(const PlacementForecast& forecast,
                                           const Placement& placement);
/// "2 by zone"; "-" if the rule asks for no standbys.
std::string StandbysText(const PlacementRule& rule);
/// Whether some rule asks for standbys.
bool AsksForStandbys(const Placement& placement);
/// "12 shards would move: 8 because a rule forbids their leader, 4 to spread shards evenly".
std::string MoveWords(const PlacementForecast& forecast);
/// How many of the moves wait because balance is paused, in one line; empty: none does. Those of
/// drains and of rules that forbid the leader go on, and during an operator's rebalance all do.
std::string PauseWords(const runtime::NodeStatus& status, const PlacementForecast& forecast);
Table RulesTable(const PlacementForecast& forecast, const Placement& placement);
Table NodesTable(const PlacementForecast& forecast);
Table MovesTable(const PlacementForecast& forecast);
/// RulesJson and MovesJson are parts of ForecastJson. SimulationJson has them, too.
boost::json::array RulesJson(const PlacementForecast& forecast, const Placement& placement);
boost::json::array MovesJson(const PlacementForecast& forecast);
/// One line: {"rules":[…],"without_rule":…,"nobody_may_lead":…,"nobody_may_lead_shards":[…],
/// "claims":…,"moves":[…],"nodes":[…]}.
std::string ForecastJson(const PlacementForecast& forecast, const Placement& placement);

}  // namespace baton::app
