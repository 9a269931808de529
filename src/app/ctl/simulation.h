// Simulation: what a group would do if some of its nodes were lost. For `rebalance simulate`.
//
// Takes the lost nodes out of a status. As the failover settings say, their shards become vacant,
// or wait for their leaders. Then the forecast (placement_forecast.h) says what the group would do.
// So the functions that decide are those of the nodes. The simulation shows the end: the lost
// nodes' leases have ended, and the delays of the failover settings are over. Shards that wait
// already go on waiting.
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
/// another form, or the label's name or its value is empty or not valid. The message says what was
/// expected.
Result<LabelTerm> ParseWithout(const std::string& word);

/// A live node: how many shards it leads now, and how many it would lead.
struct NodeOutlook {
  NodeId node;
  std::uint32_t weight = 0;
  bool away = false;  ///< the node is one of the lost ones
  std::uint32_t leads = 0;
  std::uint32_t gives = 0;  ///< shards that it loses by moves; all of them if it is away
  std::uint32_t gets = 0;   ///< shards that it gets by claims and moves
  std::uint32_t then() const { return leads - gives + gets; }
};

/// Counts of a rule's shards: by the kind of node that leads them, and by what is wrong with their
/// standbys.
struct RuleKept {
  /// How many are led by nodes that fit the rule's first preference, its second one, and so on.
  std::vector<std::uint32_t> by_preference;
  std::uint32_t by_others = 0;     ///< led by nodes that fit `require`, but no preference
  std::uint32_t against_rule = 0;  ///< led by nodes that don't fit `require`
  std::uint32_t by_nobody = 0;     ///< not led by a live node
  /// How many of the led shards have fewer standbys than the rule asks for. Standbys count even if
  /// they are not ready.
  std::uint32_t fewer_standbys = 0;
  /// For how many of the led shards two nodes (leader and standby, or two standbys) have the same
  /// value of the rule's `spread` label. Nodes without this label count as having the same value. 0
  /// if the rule asks for no standbys.
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
    kRule,            ///< their rule lets none of the nodes that are left lead them
    kNoNode,          ///< no node is left that may lead shards
    kWaitsForLeader,  ///< failover=never: they wait for the node that led them
    kWaitsNow,        ///< nobody may claim them yet, for another reason
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
  PlacementForecast forecast;  ///< of the nodes that are left
  /// How many of the claims ready standbys make; nullopt: no rule asks for standbys.
  std::optional<std::size_t> by_ready_standbys;
  std::vector<NodeOutlook> nodes;      ///< by id
  std::vector<RuleOutlook> rules;      ///< in the order of the rules
  std::vector<Leaderless> leaderless;  ///< by reason, then by rule
  std::uint32_t leaderless_count = 0;
};

/// Takes away each live node that has at least one of the labels with its value. kNotFound: for one
/// of the labels, no live node has the value; the message names the values that live nodes have.
/// REQUIRES: each label has one value; CheckPlacement accepts status.placement; the status has all
/// shards, sorted by number. Only the order is checked.
Result<Simulation> Simulate(const runtime::NodeStatus& status,
                            const std::vector<LabelTerm>& without);

}  // namespace baton::app
