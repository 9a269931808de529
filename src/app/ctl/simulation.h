// Simulation: what a group would do if some of its nodes were lost. For `rebalance simulate`.
//
// The simulation takes the lost nodes out of a status. Then the forecast (placement_forecast.h)
// says what the group would do. The lost nodes' leases have ended by then, and the delays of the
// failover settings are over. So the lost nodes' shards are vacant; with failover=never, they wait
// for their leaders. Shards that wait already go on waiting.
//
// Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/ctl/placement_forecast.h"
#include "base/placement.h"
#include "baton/result.h"
#include "baton/types.h"
#include "runtime/control.h"

namespace baton::app {

/// Reads a label with its value, such as "zone=a" or "node=n3". kInvalidArgument: the text has
/// another form, or its name or value is not valid. The message says what was expected.
Result<LabelTerm> ParseWithout(const std::string& word);

/// A live node: how many shards it leads now, and how many it would lead.
struct NodeOutlook {
  NodeId node;
  std::uint32_t weight = 0;
  bool away = false;  ///< the node is lost
  std::uint32_t leads = 0;
  std::uint32_t gives = 0;  ///< shards that the node loses by moves; all its shards if `away`
  std::uint32_t gets = 0;   ///< shards that the node gets by claims and moves
  std::uint32_t then() const { return leads - gives + gets; }
};

/// Counts of a rule's shards, by their leaders and by their standbys.
struct RuleKept {
  /// How many are led by nodes that fit the rule's first preference, its second one, and so on.
  std::vector<std::uint32_t> by_preference;
  std::uint32_t by_others = 0;     ///< led by nodes that fit `require`, but no preference
  std::uint32_t against_rule = 0;  ///< led by nodes that don't fit `require`
  std::uint32_t by_nobody = 0;     ///< not led by a live node
  /// How many of the led shards have fewer standbys than the rule asks for. Standbys count even if
  /// they are not ready.
  std::uint32_t fewer_standbys = 0;
  /// How many of the led shards have two nodes (leader and standby, or two standbys) with the same
  /// value of the rule's `spread` label. Nodes without this label count as having one same value. 0
  /// if the rule has no `spread`, or asks for no standbys.
  std::uint32_t not_apart = 0;
  friend bool operator==(const RuleKept&, const RuleKept&) = default;
};
struct RuleOutlook {
  RuleKept now;
  RuleKept then;
};

/// Shards that nobody would lead, for one reason.
struct Leaderless {
  enum class Why : std::uint8_t {
    kRule,            ///< the shards' rule lets no remaining node lead them
    kNoNode,          ///< no remaining node may lead shards
    kWaitsForLeader,  ///< failover=never: the shards wait for the node that led them
    kWaitsNow,        ///< nobody may claim the shards yet, for another reason
  };
  Why why = Why::kRule;
  std::uint32_t rule = 0;  ///< the rule's number, from 1, for kRule; otherwise 0
  std::vector<ShardRange> shards;
  std::uint32_t count = 0;
};
/// "rule_forbids", "no_node", "waits_for_leader", "waits".
const char* ToString(Leaderless::Why why);

struct Simulation {
  std::vector<LabelTerm> without;  ///< as given
  std::vector<NodeId> away;        ///< the lost nodes, by id
  std::vector<NodeId> leaders;  ///< who leads each shard now, by number; an empty id: no live node
  FailoverSettings failover;
  PlacementForecast forecast;  ///< for the remaining nodes
  /// How many of the claims come from ready standbys; nullopt: no rule asks for standbys.
  std::optional<std::size_t> by_ready_standbys;
  std::vector<NodeOutlook> nodes;      ///< by id
  std::vector<RuleOutlook> rules;      ///< in the order of the rules
  std::vector<Leaderless> leaderless;  ///< by reason, then by rule
  std::uint32_t leaderless_count = 0;
};

/// Takes away each live node that has at least one of the labels with its value. kNotFound: one of
/// the labels has a value that no live node has; the message names the values that live nodes have.
/// REQUIRES: each label has one value; CheckPlacement accepts status.placement; the status has all
/// shards, sorted by number. Only the order is checked.
Result<Simulation> Simulate(const runtime::NodeStatus& status,
                            const std::vector<LabelTerm>& without);

}  // namespace baton::app
