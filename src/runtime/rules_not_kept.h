// RulesNotKept: which placement rules are not kept, and for how many shards. The doctor, batonctl,
// JSON, the page and metrics show the rules from here.
//
// Pure functions; any thread. FindRulesNotKept takes O(shards), so the node's loop does not call
// it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/placement.h"
#include "runtime/status.h"

namespace baton::runtime {

/// For how many shards a placement rule is not kept. A shard may count in several fields.
struct RuleGaps {
  std::uint32_t nobody_may_lead = 0;        ///< shards that have ShardStatus::nobody_may_lead
  std::uint32_t led_against_rule = 0;       ///< shards that have ShardStatus::led_against_rule
  std::uint32_t without_ready_standby = 0;  ///< ... ShardStatus::without_ready_standby
  // A shard counts in the fields below only while one of the members leads it.
  /// Fewer nodes stand by for the shard than the rule asks for.
  std::uint32_t fewer_standbys = 0;
  /// As many nodes stand by as the rule asks for, but fewer are ready. The others may still load.
  std::uint32_t fewer_ready_standbys = 0;
  std::uint32_t not_apart = 0;  ///< see ShareAValue, for the label PlacementRule::spread
  friend bool operator==(const RuleGaps&, const RuleGaps&) = default;
};
/// By the number of the rule, from 1. Only rules with a gap are here.
using RulesNotKept = std::map<std::uint32_t, RuleGaps>;

/// Ignores the preferences in rules. Empty if the status has no shards.
RulesNotKept FindRulesNotKept(const NodeStatus& status);

/// Whether two of these nodes have the same value of the label. Nodes without the label share the
/// empty value. REQUIRES (not checked): no pointer is null.
bool ShareAValue(const std::string& label, const std::vector<const MemberFact*>& nodes);

/// Returns the sum of this field over all rules.
std::uint32_t ShardsWith(const RulesNotKept& rules, std::uint32_t RuleGaps::*gap);

/// Returns the rules and what each requires: "rule 2 (node=n9), rule 5 (zone=a)". Names at most
/// five rules, and then "others". A rule that `placement` lacks has its number alone.
std::string RuleNames(const Placement& placement, const std::set<std::uint32_t>& numbers);
/// The same for the rules with this gap.
std::string RuleNames(const Placement& placement, const RulesNotKept& rules,
                      std::uint32_t RuleGaps::*gap);

}  // namespace baton::runtime
