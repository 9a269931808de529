#include "app/ctl/placement_forecast.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <boost/json.hpp>

#include "app/common/did_you_mean.h"
#include "app/ctl/placement_file.h"
#include "app/ctl/ruled_group.h"
#include "core/assignment.h"

namespace baton::app {
namespace {

namespace json = boost::json;
using core::kNobody;
using core::MemberIndex;
using runtime::MemberStatus;
using runtime::NodeStatus;
using runtime::ShardStatus;

constexpr std::size_t kMaxNamedNodes = 8;
constexpr std::size_t kMaxNamedRanges = 20;

class Forecaster {
 public:
  Forecaster(const NodeStatus& status, const Placement& placement)
      : status_(status),
        placement_(placement),
        nodes_(LiveNodesOf(status)),
        group_(placement, status.shard_count, nodes_) {
    for (MemberIndex m = 0; m < nodes_.size(); ++m) {
      index_[nodes_[m].fact->node] = m;
      forecast_.nodes.push_back({.node = nodes_[m].fact->node});
    }
    for (std::size_t r = 0; r < placement_.size(); ++r) forecast_.rules.push_back(RuleOf(r));
    forecast_.labels = LabelsOf(nodes_);
    forecast_.leaders.resize(status.shard_count);
    for (const ShardStatus& shard : status.shards) {
      if (shard.shard.value < status.shard_count) AddShard(shard);
    }
  }

  PlacementForecast Make() {
    for (const core::PlannedClaim& claim : group_.Claim()) {
      const ShardId shard = group_.NumberOf(claim.shard.value);
      forecast_.claims.push_back({.shard = shard,
                                  .to = IdOf(claim.to),
                                  .rule = group_.RuleOf(shard),
                                  .why = group_.CauseOf(claim).kind});
      ++forecast_.nodes[claim.to].gets;
    }
    for (const core::PlannedMove& move : group_.Balance(group_.shards().size())) {
      const ShardId shard = group_.NumberOf(move.shard.value);
      forecast_.moves.push_back({.shard = shard,
                                 .from = IdOf(move.from),
                                 .to = IdOf(move.to),
                                 .why = group_.CauseOf(move).kind,
                                 .rule = group_.RuleOf(shard)});
      ++forecast_.nodes[move.from].gives;
      ++forecast_.nodes[move.to].gets;
    }
    for (std::size_t s = 0; s < group_.shards().size(); ++s) {
      const MemberIndex leader = group_.shards()[s].leader;
      if (leader != kNobody) forecast_.leaders[group_.NumberOf(s).value] = IdOf(leader);
    }
    std::sort(forecast_.nodes.begin(), forecast_.nodes.end(),
              [](const NodeForecast& a, const NodeForecast& b) { return a.node < b.node; });
    return std::move(forecast_);
  }

 private:
  static std::vector<RuledNode> LiveNodesOf(const NodeStatus& status) {
    std::vector<RuledNode> nodes;
    for (const MemberStatus& member : status.members) {
      if (!member.fact.Live()) continue;
      const bool keeps = status.failover.policy != FailoverPolicy::kImmediate &&
                         member.fact.Leaves() && !member.drained_by_policy;
      nodes.push_back({.fact = &member.fact, .draining = member.Draining(), .keeps = keeps});
    }
    return nodes;
  }

  static std::vector<std::string> LabelsOf(const std::vector<RuledNode>& nodes) {
    std::set<std::string> names;
    for (const RuledNode& node : nodes) {
      names.emplace(kNodeLabel);
      if (!node.fact->zone.empty()) names.emplace(kZoneLabel);
      for (const auto& [name, value] : node.fact->labels) names.insert(name);
    }
    return {names.begin(), names.end()};
  }

  const NodeId& IdOf(MemberIndex node) const { return nodes_[node].fact->node; }

  MemberIndex IndexOf(const NodeId& node) const {
    const auto found = index_.find(node);
    return found != index_.end() ? found->second : kNobody;
  }

  void AddShard(const ShardStatus& shard) {
    CountForRule(shard.shard);
    const MemberIndex leader = IndexOf(shard.leader);
    if (leader != kNobody) ++forecast_.nodes[leader].leads;
    // Nobody else can get it, so nobody keeps a seat for it.
    const bool kept = status_.failover.policy == FailoverPolicy::kNever && !shard.waits_for.empty();
    if (leader == kNobody && kept) return;
    const bool waits = leader == kNobody && (!shard.leader.empty() || shard.quarantined ||
                                             shard.claims_wait.count() > 0 ||
                                             runtime::WaitsBySettings(shard, status_.at));
    group_.AddShard(
        {.shard = shard.shard, .leader = leader, .waits = waits, .ready = ReadyFor(shard)});
  }

  std::vector<MemberIndex> ReadyFor(const ShardStatus& shard) const {
    std::vector<MemberIndex> ready;
    if (shard.standbys == nullptr) return ready;
    for (const runtime::StandbyStatus& standby : *shard.standbys) {
      const MemberIndex node = IndexOf(standby.node);
      if (standby.ready && node != kNobody) ready.push_back(node);
    }
    return ready;
  }

  void CountForRule(ShardId shard) {
    const std::uint32_t number = group_.RuleOf(shard);
    if (number == 0) {
      ++forecast_.without_rule;
      return;
    }
    RuleForecast& rule = forecast_.rules[number - 1];
    ++rule.shards;
    if (!rule.wanted.empty()) return;
    ++forecast_.nobody_count;
    AddToRanges(shard, forecast_.nobody);
  }

  RuleForecast RuleOf(std::size_t rule) const {
    RuleForecast forecast;
    for (const RuledNode& node : nodes_) {
      if (node.fact->Fits(placement_[rule].require)) ++forecast.may_lead;
    }
    const std::vector<MemberIndex>& wanted = group_.Wanted(rule);
    for (const MemberIndex node : wanted) forecast.wanted.push_back(IdOf(node));
    if (!wanted.empty()) {
      forecast.preference = core::PreferenceOf(placement_[rule], *nodes_[wanted.front()].fact);
    }
    std::sort(forecast.wanted.begin(), forecast.wanted.end());
    forecast.may_stand_by = group_.MayStandBy(rule);
    return forecast;
  }

  const NodeStatus& status_;
  const Placement& placement_;
  const std::vector<RuledNode> nodes_;
  RuledGroup group_;
  std::map<NodeId, MemberIndex> index_;
  PlacementForecast forecast_;  ///< its nodes are in the order of `nodes_` until the end
};

// The names of all labels in the rule.
std::set<std::string> LabelsIn(const PlacementRule& rule) {
  std::set<std::string> names;
  for (const LabelTerm& term : rule.require) names.insert(term.label);
  for (const LabelTerms& terms : rule.prefer) {
    for (const LabelTerm& term : terms) names.insert(term.label);
  }
  if (!rule.spread.empty()) names.insert(rule.spread);
  return names;
}

}  // namespace

std::string RangeWords(const std::vector<ShardRange>& ranges) {
  const std::size_t count = std::min(ranges.size(), kMaxNamedRanges);
  const std::vector<std::string> texts =
      RangeTexts({ranges.begin(), ranges.begin() + static_cast<std::ptrdiff_t>(count)});
  std::string words = fmt::format("{}", fmt::join(texts, ", "));
  if (ranges.size() > count) words += " and " + CountOf(ranges.size() - count, "more range");
  return words;
}

std::string NodeNames(const std::vector<NodeId>& nodes) {
  const auto count = static_cast<std::ptrdiff_t>(std::min(nodes.size(), kMaxNamedNodes));
  std::string words = fmt::format("{}", fmt::join(nodes.begin(), nodes.begin() + count, ", "));
  if (nodes.size() > kMaxNamedNodes) {
    words += fmt::format(" and {} more", nodes.size() - kMaxNamedNodes);
  }
  return words;
}

PlacementForecast Foresee(const NodeStatus& status, const Placement& placement) {
  return Forecaster(status, placement).Make();
}

std::vector<std::string> InfeasibleLines(const PlacementForecast& forecast,
                                         const Placement& placement) {
  std::vector<std::string> lines;
  for (std::size_t r = 0; r < forecast.rules.size(); ++r) {
    const RuleForecast& rule = forecast.rules[r];
    if (rule.shards == 0 || !rule.wanted.empty()) continue;
    lines.push_back(fmt::format("rule {} ({}) lets no live node begin to lead its {}", r + 1,
                                TermWords(placement[r].require), CountOf(rule.shards, "shard")));
  }
  if (lines.empty()) return lines;
  lines.push_back(fmt::format("nobody may begin to lead {}: {}",
                              CountOf(forecast.nobody_count, "shard"),
                              RangeWords(forecast.nobody)));
  return lines;
}

std::vector<std::string> UnusedRuleLines(const PlacementForecast& forecast,
                                         const Placement& placement) {
  std::vector<std::string> lines;
  const std::size_t shards = forecast.leaders.size();
  for (std::size_t r = 0; r < forecast.rules.size(); ++r) {
    const std::vector<ShardRange>& ranges = placement[r].shards;
    const bool beyond = std::any_of(ranges.begin(), ranges.end(),
                                    [&](const ShardRange& range) { return range.last >= shards; });
    if (beyond) {
      lines.push_back(fmt::format("rule {} names shards {}, the group has 0 to {}", r + 1,
                                  RangeWords(ranges), shards - 1));
    } else if (forecast.rules[r].shards == 0) {
      lines.push_back(
          fmt::format("rule {} counts for no shard: earlier rules name all of its", r + 1));
    }
  }
  return lines;
}

std::vector<std::string> TooFewStandbyLines(const PlacementForecast& forecast,
                                            const Placement& placement) {
  std::vector<std::string> lines;
  for (std::size_t r = 0; r < forecast.rules.size(); ++r) {
    const RuleForecast& rule = forecast.rules[r];
    const std::uint32_t standbys = placement[r].standbys;
    const bool enough = rule.may_stand_by > standbys;
    if (standbys == 0 || enough || rule.shards == 0 || rule.wanted.empty()) continue;
    lines.push_back(fmt::format("rule {} asks for {}, but only {} may lead or stand by for its {}",
                                r + 1, CountOf(standbys, "standby"),
                                CountOf(rule.may_stand_by, "live node"),
                                CountOf(rule.shards, "shard")));
  }
  return lines;
}

std::vector<std::string> UnknownLabelLines(const PlacementForecast& forecast,
                                           const Placement& placement) {
  std::vector<std::string> lines;
  if (forecast.labels.empty()) return lines;
  for (std::size_t r = 0; r < placement.size(); ++r) {
    std::vector<std::string> unknown;
    for (const std::string& name : LabelsIn(placement[r])) {
      if (!std::binary_search(forecast.labels.begin(), forecast.labels.end(), name)) {
        unknown.push_back(name);
      }
    }
    if (unknown.size() == 1) {
      lines.push_back(fmt::format("rule {} names label {}, which no live node has{}", r + 1,
                                  unknown.front(), DidYouMean(unknown.front(), forecast.labels)));
    } else if (!unknown.empty()) {
      lines.push_back(
          fmt::format("rule {} names labels that no live node has: {}", r + 1, NodeNames(unknown)));
    }
  }
  return lines;
}

std::string StandbysText(const PlacementRule& rule) {
  if (rule.standbys == 0) return "-";
  const std::string count = std::to_string(rule.standbys);
  return rule.spread.empty() ? count : count + " by " + rule.spread;
}

bool AsksForStandbys(const Placement& placement) {
  return std::any_of(placement.begin(), placement.end(),
                     [](const PlacementRule& rule) { return rule.standbys > 0; });
}

std::string MoveWords(const PlacementForecast& forecast) {
  if (forecast.moves.empty()) return "nothing would move";
  std::map<CauseKind, std::size_t> counts;
  for (const MoveForecast& move : forecast.moves) ++counts[move.why];
  std::vector<std::string> parts;
  const auto add = [&](CauseKind why, const char* words) {
    if (counts[why] > 0) parts.push_back(fmt::format("{} {}", counts[why], words));
  };
  add(CauseKind::kRuleForbids, "because a rule forbids their leader");
  add(CauseKind::kRulePrefers, "because a rule prefers others");
  add(CauseKind::kDrain, "because their leader drains");
  add(CauseKind::kBalance, "to spread shards evenly");
  return fmt::format("{} would move: {}", CountOf(forecast.moves.size(), "shard"),
                     fmt::join(parts, ", "));
}

std::string PauseWords(const NodeStatus& status, const PlacementForecast& forecast) {
  if (!status.paused || status.rebalance_requested) return "";
  const auto waiting =
      std::count_if(forecast.moves.begin(), forecast.moves.end(), [](const MoveForecast& move) {
        return move.why == CauseKind::kRulePrefers || move.why == CauseKind::kBalance;
      });
  if (waiting == 0) return "";
  return fmt::format("balance is paused: {} of these moves {} for `batonctl resume`", waiting,
                     waiting == 1 ? "waits" : "wait");
}

Table RulesTable(const PlacementForecast& forecast, const Placement& placement) {
  Table table{{{"RULE", Align::kRight},
               {"SHARDS", Align::kRight},
               {"REQUIRE"},
               {"MAY LEAD", Align::kRight},
               {"WANTED NOW"}},
              {}};
  const bool standbys = AsksForStandbys(placement);
  if (standbys) table.columns.push_back({"STANDBYS"});
  const auto add = [&](std::vector<Cell> row, const std::string& words) {
    if (standbys) row.push_back({words});
    table.rows.push_back(std::move(row));
  };
  for (std::size_t r = 0; r < forecast.rules.size(); ++r) {
    const RuleForecast& rule = forecast.rules[r];
    std::string wanted = NodeNames(rule.wanted);
    if (rule.preference > 0) {
      wanted += " (" + TermWords(placement[r].prefer[rule.preference - 1]) + ")";
    }
    add({{std::to_string(r + 1)},
         {std::to_string(rule.shards)},
         {TermWords(placement[r].require)},
         {std::to_string(rule.may_lead)},
         rule.wanted.empty() ? Cell{"nobody", Style::kBad} : Cell{wanted}},
        StandbysText(placement[r]));
  }
  if (forecast.without_rule > 0) {
    add({{"-"},
         {std::to_string(forecast.without_rule)},
         {"any node"},
         {std::to_string(forecast.nodes.size())},
         {"-", Style::kDim}},
        "-");
  }
  return table;
}

Table NodesTable(const PlacementForecast& forecast) {
  Table table{{{"NODE"},
               {"LEADS", Align::kRight},
               {"GIVES", Align::kRight},
               {"GETS", Align::kRight},
               {"THEN", Align::kRight}},
              {}};
  for (const NodeForecast& node : forecast.nodes) {
    table.rows.push_back({{node.node},
                          {std::to_string(node.leads)},
                          {std::to_string(node.gives)},
                          {std::to_string(node.gets)},
                          {std::to_string(node.then())}});
  }
  return table;
}

Table MovesTable(const PlacementForecast& forecast) {
  Table table{{{"SHARD", Align::kRight}, {"FROM"}, {"TO"}, {"WHY"}, {"RULE", Align::kRight}}, {}};
  for (const MoveForecast& move : forecast.moves) {
    table.rows.push_back({{std::to_string(move.shard.value)},
                          {move.from},
                          {move.to},
                          {ToString(move.why)},
                          {move.rule == 0 ? "-" : std::to_string(move.rule)}});
  }
  return table;
}

json::array RulesJson(const PlacementForecast& forecast, const Placement& placement) {
  json::array rules;
  for (std::size_t r = 0; r < forecast.rules.size(); ++r) {
    const RuleForecast& rule = forecast.rules[r];
    json::object object{{"rule", r + 1},
                        {"shards", rule.shards},
                        {"require", TermWords(placement[r].require)},
                        {"may_lead", rule.may_lead},
                        {"preference", nullptr},
                        {"wanted", json::array(rule.wanted.begin(), rule.wanted.end())},
                        {"standbys", placement[r].standbys},
                        {"spread", nullptr}};
    if (rule.preference > 0) object["preference"] = rule.preference;
    if (!placement[r].spread.empty()) object["spread"] = placement[r].spread;
    rules.push_back(std::move(object));
  }
  return rules;
}

json::array MovesJson(const PlacementForecast& forecast) {
  json::array moves;
  for (const MoveForecast& move : forecast.moves) {
    json::object object{{"shard", move.shard.value},
                        {"from", move.from},
                        {"to", move.to},
                        {"why", ToString(move.why)},
                        {"rule", nullptr}};
    if (move.rule > 0) object["rule"] = move.rule;
    moves.push_back(std::move(object));
  }
  return moves;
}

std::string ForecastJson(const PlacementForecast& forecast, const Placement& placement) {
  json::array nodes;
  for (const NodeForecast& node : forecast.nodes) {
    nodes.push_back(json::object{{"node", node.node},
                                 {"leads", node.leads},
                                 {"gives", node.gives},
                                 {"gets", node.gets},
                                 {"then", node.then()}});
  }
  const std::vector<std::string> nobody = RangeTexts(forecast.nobody);
  return json::serialize(
      json::object{{"rules", RulesJson(forecast, placement)},
                   {"without_rule", forecast.without_rule},
                   {"nobody_may_lead", forecast.nobody_count},
                   {"nobody_may_lead_shards", json::array(nobody.begin(), nobody.end())},
                   {"claims", forecast.claims.size()},
                   {"moves", MovesJson(forecast)},
                   {"nodes", std::move(nodes)}});
}

}  // namespace baton::app
