#include "app/ctl/simulation.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "app/ctl/placement_file.h"
#include "app/ctl/ruled_group.h"
#include "base/escape.h"
#include "base/text_rules.h"
#include "core/shard_rules.h"
#include "core/standbys.h"
#include "runtime/rules_not_kept.h"

namespace baton::app {
namespace {

using runtime::MemberStatus;
using runtime::NodeStatus;
using runtime::ShardStatus;

constexpr std::size_t kLongestWithout = 64;

bool IsTakenAway(const MemberFact& node, const std::vector<LabelTerm>& without) {
  return std::any_of(without.begin(), without.end(),
                     [&](const LabelTerm& term) { return node.Fits({term}); });
}

// That each label fits some live node: a typo must not look like a group that bears everything.
Status CheckWithout(const NodeStatus& status, const std::vector<LabelTerm>& without) {
  for (const LabelTerm& term : without) {
    std::set<std::string> values;
    for (const MemberStatus& member : status.members) {
      const std::string& value = member.fact.Label(term.label);
      if (member.fact.Live() && !value.empty()) values.insert(value);
    }
    if (values.contains(term.values.front())) continue;
    const std::string known = values.empty()
                                  ? "no live node has this label"
                                  : fmt::format("{} of live nodes: {}", term.label,
                                                NodeNames({values.begin(), values.end()}));
    return Error{ErrorCode::kNotFound,
                 fmt::format("no live node has {}; {}", TermWords({term}), known)};
  }
  return Ok();
}

// The status once the nodes are lost.
NodeStatus WithoutNodes(const NodeStatus& status, const std::vector<LabelTerm>& without) {
  NodeStatus left = status;
  std::erase_if(left.members, [&](const MemberStatus& member) {
    return member.fact.Live() && IsTakenAway(member.fact, without);
  });
  std::set<NodeId> lost;
  for (const MemberStatus& member : status.members) {
    if (member.fact.Live() && IsTakenAway(member.fact, without)) lost.insert(member.fact.node);
  }
  for (std::size_t s = 0; s < status.shards.size(); ++s) {
    if (!lost.contains(status.shards[s].leader)) continue;
    ShardStatus& shard = left.shards[s];
    if (left.failover.policy == FailoverPolicy::kNever) shard.waits_for = shard.leader;
    shard.leader.clear();
  }
  return left;
}

// Counts by rule which nodes lead the shards and which stand by for them.
class KeptCounter {
 public:
  KeptCounter(const NodeStatus& status) : placement_(status.placement) {
    rules_.Set(status.placement, status.shard_count);
    std::map<NodeId, const MemberFact*> stay;  // sorted by id
    for (const MemberStatus& member : status.members) {
      if (!member.fact.Live()) continue;
      nodes_[member.fact.node] = &member.fact;
      if (member.fact.weight > 0 && !member.Draining()) stay[member.fact.node] = &member.fact;
    }
    std::vector<const MemberFact*> nodes;
    for (const auto& [id, fact] : stay) nodes.push_back(fact);
    standbys_.Update(rules_, status.shard_count, nodes);
  }

  /// `leaders`: the leader of each shard, by number.
  std::vector<RuleKept> Count(const std::vector<NodeId>& leaders) const {
    std::vector<RuleKept> kept(placement_.size());
    for (std::size_t r = 0; r < kept.size(); ++r) {
      kept[r].by_preference.resize(placement_[r].prefer.size());
    }
    for (std::uint32_t s = 0; s < leaders.size(); ++s) {
      const std::size_t rule = rules_.NumberOf(ShardId{s});
      if (rule < kept.size()) Add(placement_[rule], {s}, leaders[s], kept[rule]);
    }
    return kept;
  }

  std::uint32_t RuleOf(std::uint32_t shard) const {
    const std::size_t rule = rules_.NumberOf(ShardId{shard});
    return rule < placement_.size() ? static_cast<std::uint32_t>(rule + 1) : 0;
  }

 private:
  void Add(const PlacementRule& rule, ShardId shard, const NodeId& leader, RuleKept& kept) const {
    const auto found = nodes_.find(leader);
    if (found == nodes_.end()) {
      ++kept.by_nobody;
      return;
    }
    const MemberFact& node = *found->second;
    const std::size_t preference = core::PreferenceOf(rule, node);
    ++(!node.Fits(rule.require) ? kept.against_rule
       : preference > 0         ? kept.by_preference[preference - 1]
                                : kept.by_others);
    if (rule.standbys > 0) AddStandbys(rule, shard, node, kept);
  }

  void AddStandbys(const PlacementRule& rule, ShardId shard, const MemberFact& leader,
                   RuleKept& kept) const {
    const std::vector<NodeId> standbys = standbys_.Of(shard, &leader);
    if (standbys.size() < rule.standbys) ++kept.fewer_standbys;
    if (rule.spread.empty()) return;
    std::vector<const MemberFact*> nodes = {&leader};
    for (const NodeId& standby : standbys) nodes.push_back(nodes_.at(standby));
    if (runtime::ShareAValue(rule.spread, nodes)) ++kept.not_apart;
  }

  const Placement& placement_;
  core::ShardRules rules_;
  std::map<NodeId, const MemberFact*> nodes_;  // live ones
  core::Standbys standbys_;
};

std::vector<NodeId> LeadersOf(const NodeStatus& status) {
  std::set<NodeId> live;
  for (const MemberStatus& member : status.members) {
    if (member.fact.Live()) live.insert(member.fact.node);
  }
  std::vector<NodeId> leaders(status.shard_count);
  for (const ShardStatus& shard : status.shards) {
    if (shard.shard.value >= leaders.size() || !live.contains(shard.leader)) continue;
    leaders[shard.shard.value] = shard.leader;
  }
  return leaders;
}

bool SomeNodeMayLead(const NodeStatus& left) {
  return std::any_of(left.members.begin(), left.members.end(), [](const MemberStatus& member) {
    return member.fact.Live() && member.fact.weight > 0;
  });
}

void AddLeaderless(const NodeStatus& left, const KeptCounter& counter, Simulation& simulation) {
  using Why = Leaderless::Why;
  const bool never = left.failover.policy == FailoverPolicy::kNever;
  const bool some = SomeNodeMayLead(left);
  std::map<std::pair<Why, std::uint32_t>, std::vector<ShardRange>> found;
  const PlacementForecast& forecast = simulation.forecast;
  std::map<std::pair<Why, std::uint32_t>, std::uint32_t> counts;
  for (const ShardStatus& shard : left.shards) {
    const std::uint32_t number = shard.shard.value;
    if (number >= forecast.leaders.size() || !forecast.leaders[number].empty()) continue;
    const std::uint32_t rule = counter.RuleOf(number);
    std::pair<Why, std::uint32_t> why{Why::kWaitsNow, 0};
    if (never && !shard.waits_for.empty()) {
      why.first = Why::kWaitsForLeader;
    } else if (rule > 0 && forecast.rules[rule - 1].wanted.empty() && some) {
      why = {Why::kRule, rule};
    } else if (!some) {
      why.first = Why::kNoNode;
    }
    AddToRanges(shard.shard, found[why]);
    ++counts[why];
  }
  for (auto& [why, shards] : found) {
    simulation.leaderless.push_back(
        {.why = why.first, .rule = why.second, .shards = std::move(shards), .count = counts[why]});
    simulation.leaderless_count += counts[why];
  }
}

void AddNodes(const NodeStatus& status, Simulation& simulation) {
  std::map<NodeId, std::uint32_t> leads;
  for (const NodeId& leader : simulation.leaders) ++leads[leader];
  std::map<NodeId, const NodeForecast*> left;
  for (const NodeForecast& node : simulation.forecast.nodes) left[node.node] = &node;
  for (const MemberStatus& member : status.members) {
    if (!member.fact.Live()) continue;
    NodeOutlook node{.node = member.fact.node, .weight = member.fact.weight};
    node.leads = leads[node.node];
    const auto found = left.find(node.node);
    node.away = found == left.end();
    node.gives = node.away ? node.leads : found->second->gives;
    node.gets = node.away ? 0 : found->second->gets;
    if (node.away) simulation.away.push_back(node.node);
    simulation.nodes.push_back(std::move(node));
  }
  std::sort(simulation.away.begin(), simulation.away.end());
  std::sort(simulation.nodes.begin(), simulation.nodes.end(),
            [](const NodeOutlook& a, const NodeOutlook& b) { return a.node < b.node; });
}

}  // namespace

Result<LabelTerm> ParseWithout(const std::string& word) {
  const std::size_t sign = word.find('=');
  const std::string label = word.substr(0, sign);
  const std::string value = sign == std::string::npos ? "" : word.substr(sign + 1);
  if (!IsLabelName(label) || !IsName(value)) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("\"{}\" is no label with a value; give LABEL=VALUE, such as zone=a or "
                             "node=n3",
                             OneLine(word, kLongestWithout))};
  }
  return LabelTerm{.label = label, .values = {value}};
}

const char* ToString(Leaderless::Why why) {
  switch (why) {
    case Leaderless::Why::kRule: return "rule_forbids";
    case Leaderless::Why::kNoNode: return "no_node";
    case Leaderless::Why::kWaitsForLeader: return "waits_for_leader";
    case Leaderless::Why::kWaitsNow: return "waits";
  }
  return "unknown";
}

Result<Simulation> Simulate(const NodeStatus& status, const std::vector<LabelTerm>& without) {
  if (const Status fits = CheckWithout(status, without); !fits) return fits.error();
  const NodeStatus left = WithoutNodes(status, without);
  Simulation simulation{.without = without,
                        .away = {},
                        .leaders = LeadersOf(status),
                        .failover = status.failover,
                        .forecast = Foresee(left, left.placement),
                        .by_ready_standbys = {},
                        .nodes = {},
                        .rules = {},
                        .leaderless = {}};
  if (AsksForStandbys(status.placement)) {
    const std::vector<ClaimForecast>& claims = simulation.forecast.claims;
    simulation.by_ready_standbys = static_cast<std::size_t>(std::count_if(
        claims.begin(), claims.end(), [](const ClaimForecast& claim) { return claim.ready(); }));
  }
  AddNodes(status, simulation);
  std::vector<RuleKept> now = KeptCounter(status).Count(simulation.leaders);
  const KeptCounter counter(left);
  std::vector<RuleKept> then = counter.Count(simulation.forecast.leaders);
  for (std::size_t r = 0; r < now.size(); ++r) {
    simulation.rules.push_back({.now = std::move(now[r]), .then = std::move(then[r])});
  }
  AddLeaderless(left, counter, simulation);
  return simulation;
}

}  // namespace baton::app
