// Simulation: what a group would do if some of its nodes were lost. For `rebalance simulate`.
//
// Takes the nodes out of a status, makes their shards vacant or lets them wait, as the failover
// settings say, and asks the forecast (placement_forecast.h). So the same functions decide as in
// the nodes. The simulation shows the end: the lost nodes' leases have ended, and the delays of the
// failover settings are over. Shards that already wait now stay as they are.
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

/// Reads "zone=a" or "node=n3". kInvalidArgument: it has another form, or the label's name or value
/// is not valid (also an empty one); the message says what was expected.
Result<LabelTerm> ParseWithout(const std::string& word);

/// A live node: how much it leads now, and how much it would lead.
struct NodeOutlook {
  NodeId node;
  std::uint32_t weight = 0;
  bool away = false;  ///< it is taken away
  std::uint32_t leads = 0;
  std::uint32_t gives = 0;  ///< by moves; all it leads if it is taken away
  std::uint32_t gets = 0;   ///< by claims and moves
  std::uint32_t then() const { return leads - gives + gets; }
};

/// How many of a rule's shards are led by which nodes, and how many lack standbys.
struct RuleKept {
  /// By nodes that fit the rule's first preference, its second, and so on.
  std::vector<std::uint32_t> by_preference;
  std::uint32_t by_others = 0;     ///< by nodes that fit `require` and none of the preferences
  std::uint32_t against_rule = 0;  ///< by nodes that don't fit `require`
  std::uint32_t by_nobody = 0;     ///< by no live node
  /// Of the shards that are led: how many have fewer standbys than the rule asks for, ready or not.
  std::uint32_t fewer_standbys = 0;
  /// Of the shards that are led: in how many the leader and the standbys share a value of `spread`.
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
    kRule,            ///< by the rule, no node that would be left may lead them
    kNoNode,          ///< no node that may lead would be left
    kWaitsForLeader,  ///< failover=never: they wait for the node that led them
    kWaitsNow,        ///< for another reason, nobody may claim them yet
  };
  Why why = Why::kRule;
  std::uint32_t rule = 0;  ///< of kRule, from 1; else 0
  std::vector<ShardRange> shards;
  std::uint32_t count = 0;
};
/// "rule_forbids", "no_node", "waits_for_leader", "waits".
const char* ToString(Leaderless::Why why);

struct Simulation {
  std::vector<LabelTerm> without;  ///< as given
  std::vector<NodeId> away;        ///< nodes that are taken away, by id
  std::vector<NodeId> leaders;     ///< now, by shard number; an empty id: no live node leads it
  FailoverSettings failover;
  PlacementForecast forecast;  ///< of the nodes that are left
  /// How many of the claims are by ready standbys; nullopt: no rule asks for standbys.
  std::optional<std::size_t> by_ready_standbys;
  std::vector<NodeOutlook> nodes;      ///< by id
  std::vector<RuleOutlook> rules;      ///< in the order of the rules
  std::vector<Leaderless> leaderless;  ///< by reason, then by rule
  std::uint32_t leaderless_count = 0;
};

/// Takes away each live node that has at least one of the labels. kNotFound: there is a label that
/// no live node has; the message names the values that live nodes have. REQUIRES:
/// each term has one value; CheckPlacement(status.placement); the status has all shards, sorted by
/// number (the order is checked).
Result<Simulation> Simulate(const runtime::NodeStatus& status,
                            const std::vector<LabelTerm>& without);

}  // namespace baton::app
