// PlacementForecast: what a group would do if it had other placement rules.
//
// Foresee computes the forecast from a node's status, with the same functions as the nodes
// (ruled_group.h). The forecast shows the end, as if all moves could begin at once: it ignores a
// pause of balance, rebalance_delay, cooldowns, and that some nodes get no shards for a while. But
// a leaderless shard that nobody may claim yet stays leaderless. Such a shard waits after deaths or
// by the failover settings, or its record is damaged or still names a leader. Pure; any thread.
//
// REQUIRES for all functions below Foresee (not checked): `placement` is the one that Foresee got.
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
  /// How many live nodes fit the rule's `require`. Draining nodes and nodes of weight 0 count, too.
  std::uint32_t may_lead = 0;
  /// The nodes that should lead the rule's shards now, sorted by id. Empty: no node may begin to
  /// lead these shards.
  std::vector<NodeId> wanted;
  std::size_t preference = 0;  ///< number of the rule's preference that `wanted` fits; 0: none
  /// How many live nodes may lead or stand by for the rule's shards. These nodes fit `require`,
  /// don't drain, and have a weight above 0.
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
  std::uint32_t gets = 0;  ///< by moves, and by claims of leaderless shards
  std::uint32_t then() const { return leads - gives + gets; }
};

struct PlacementForecast {
  std::vector<RuleForecast> rules;  ///< in the order of the rules
  std::uint32_t without_rule = 0;   ///< how many shards no rule decides about
  /// The shards with a rule that lets no live node begin to lead them, sorted by number. Shards
  /// without a rule are never in this list.
  std::vector<ShardRange> nobody;
  std::uint32_t nobody_count = 0;     ///< how many shards `nobody` has
  std::vector<ClaimForecast> claims;  ///< by shard number
  std::vector<MoveForecast> moves;    ///< urgent moves first
  std::vector<NodeForecast> nodes;    ///< the live nodes, by id
  /// The leader of each shard after all claims and moves, by shard number; an empty id: nobody.
  std::vector<NodeId> leaders;
  /// The names of all labels that live nodes have, also `node` and `zone`; sorted.
  std::vector<std::string> labels;
};

/// Computes the forecast. REQUIRES: CheckPlacement accepts `placement` (not checked); the status
/// has all shards (not checked), sorted by number (checked).
PlacementForecast Foresee(const runtime::NodeStatus& status, const Placement& placement);

/// "0-99, 120 and 5 more ranges": names the first 20 ranges.
std::string RangeWords(const std::vector<ShardRange>& ranges);
/// "n1, n2 and 5 more": names the first 8 nodes.
std::string NodeNames(const std::vector<NodeId>& nodes);

/// A line for each rule that decides about shards, but lets no live node begin to lead them. A last
/// line names all these shards. Empty if there is no such rule.
std::vector<std::string> InfeasibleLines(const PlacementForecast& forecast,
                                         const Placement& placement);
/// A line for each rule that names shards which the group lacks, or that decides about no shard.
/// REQUIRES (not checked): the group has shards.
std::vector<std::string> UnusedRuleLines(const PlacementForecast& forecast,
                                         const Placement& placement);
/// A line for each rule that asks for standbys, but has too few live nodes for one leader and its
/// standbys (RuleForecast::may_stand_by). There is no line for a rule that decides about no shard,
/// or that lets no node lead.
std::vector<std::string> TooFewStandbyLines(const PlacementForecast& forecast,
                                            const Placement& placement);
/// A line for each rule that names labels that no live node has. Empty if there is no live node.
std::vector<std::string> UnknownLabelLines(const PlacementForecast& forecast,
                                           const Placement& placement);
/// "2 by zone"; "-" if the rule asks for no standbys.
std::string StandbysText(const PlacementRule& rule);
/// Whether some rule asks for standbys.
bool AsksForStandbys(const Placement& placement);
/// "12 shards would move: 8 because a rule forbids their leader, 4 to spread shards evenly".
std::string MoveWords(const PlacementForecast& forecast);
/// One line that says how many of the moves wait because balance is paused. Empty: no move waits.
/// Two kinds of moves never wait: because of a drain, and because a rule forbids the leader. While
/// an applied rebalance is under way, no move waits.
std::string PauseWords(const runtime::NodeStatus& status, const PlacementForecast& forecast);
Table RulesTable(const PlacementForecast& forecast, const Placement& placement);
Table NodesTable(const PlacementForecast& forecast);
Table MovesTable(const PlacementForecast& forecast);
/// RulesJson and MovesJson return parts of ForecastJson. SimulationJson (simulation_report.h) has
/// these parts, too.
boost::json::array RulesJson(const PlacementForecast& forecast, const Placement& placement);
boost::json::array MovesJson(const PlacementForecast& forecast);
/// One line: {"rules":[…],"without_rule":…,"nobody_may_lead":…,"nobody_may_lead_shards":[…],
/// "claims":…,"moves":[…],"nodes":[…]}.
std::string ForecastJson(const PlacementForecast& forecast, const Placement& placement);

}  // namespace baton::app
