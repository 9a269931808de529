#include "app/ctl/simulation.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <boost/json.hpp>

#include "app/ctl/placement_file.h"
#include "app/ctl/ruled_group.h"
#include "base/duration_text.h"
#include "base/escape.h"
#include "base/text_rules.h"
#include "core/shard_rules.h"

namespace baton::app {
namespace {

namespace json = boost::json;
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

// Who leads the shards, counted by rule.
class KeptCounter {
 public:
  KeptCounter(const NodeStatus& status) : placement_(status.placement) {
    rules_.Set(status.placement, status.shard_count);
    for (const MemberStatus& member : status.members) {
      if (member.fact.Live()) nodes_[member.fact.node] = &member.fact;
    }
  }

  std::vector<RuleKept> Count(const std::vector<NodeId>& leaders) const {
    std::vector<RuleKept> kept(placement_.size());
    for (std::size_t r = 0; r < kept.size(); ++r) {
      kept[r].by_preference.resize(placement_[r].prefer.size());
    }
    for (std::uint32_t s = 0; s < leaders.size(); ++s) {
      const std::size_t rule = rules_.NumberOf(ShardId{s});
      if (rule < kept.size()) Add(placement_[rule], leaders[s], kept[rule]);
    }
    return kept;
  }

  std::uint32_t RuleOf(std::uint32_t shard) const {
    const std::size_t rule = rules_.NumberOf(ShardId{shard});
    return rule < placement_.size() ? static_cast<std::uint32_t>(rule + 1) : 0;
  }

 private:
  void Add(const PlacementRule& rule, const NodeId& leader, RuleKept& kept) const {
    const auto found = nodes_.find(leader);
    if (found == nodes_.end()) {
      ++kept.by_nobody;
      return;
    }
    const MemberFact& node = *found->second;
    const std::size_t preference = PreferenceOf(rule, node);
    ++(!node.Fits(rule.require) ? kept.against_rule
       : preference > 0         ? kept.by_preference[preference - 1]
                                : kept.by_others);
  }

  const Placement& placement_;
  core::ShardRules rules_;
  std::map<NodeId, const MemberFact*> nodes_;  // live ones
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

// In tenths of a percent, rounded.
std::uint32_t ShareOf(std::uint32_t count, std::size_t all) {
  return all == 0 ? 0 : static_cast<std::uint32_t>((2000ULL * count + all) / (2 * all));
}
std::string ShareWord(std::uint32_t count, std::size_t all) {
  const std::uint32_t tenths = ShareOf(count, all);
  return fmt::format("{}.{}%", tenths / 10, tenths % 10);
}

json::object KeptJson(const RuleKept& kept) {
  return {{"by_preference", json::array(kept.by_preference.begin(), kept.by_preference.end())},
          {"by_others", kept.by_others},
          {"against_rule", kept.against_rule},
          {"by_nobody", kept.by_nobody}};
}

json::array OutlookJson(const Simulation& simulation) {
  json::array nodes;
  for (const NodeOutlook& node : simulation.nodes) {
    nodes.push_back(json::object{{"node", node.node},
                                 {"away", node.away},
                                 {"weight", node.weight},
                                 {"leads", node.leads},
                                 {"gives", node.gives},
                                 {"gets", node.gets},
                                 {"then", node.then()}});
  }
  return nodes;
}

json::array LeaderlessJson(const Simulation& simulation) {
  json::array all;
  for (const Leaderless& leaderless : simulation.leaderless) {
    const std::vector<std::string> shards = RangeTexts(leaderless.shards);
    json::object object{{"why", ToString(leaderless.why)},
                        {"rule", nullptr},
                        {"count", leaderless.count},
                        {"shards", json::array(shards.begin(), shards.end())}};
    if (leaderless.rule > 0) object["rule"] = leaderless.rule;
    all.push_back(std::move(object));
  }
  return all;
}

json::array SimulatedClaimsJson(const Simulation& simulation) {
  json::array claims;
  for (const ClaimForecast& claim : simulation.forecast.claims) {
    json::object object{
        {"shard", claim.shard.value}, {"from", nullptr}, {"to", claim.to}, {"rule", nullptr}};
    const NodeId& from = simulation.leaders[claim.shard.value];
    if (!from.empty()) object["from"] = from;
    if (claim.rule > 0) object["rule"] = claim.rule;
    claims.push_back(std::move(object));
  }
  return claims;
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
                        .nodes = {},
                        .rules = {},
                        .leaderless = {}};
  AddNodes(status, simulation);
  const KeptCounter counter(status);
  std::vector<RuleKept> now = counter.Count(simulation.leaders);
  std::vector<RuleKept> then = counter.Count(simulation.forecast.leaders);
  for (std::size_t r = 0; r < now.size(); ++r) {
    simulation.rules.push_back({.now = std::move(now[r]), .then = std::move(then[r])});
  }
  AddLeaderless(left, counter, simulation);
  return simulation;
}

std::vector<std::string> SummaryLines(const Simulation& simulation) {
  std::vector<std::string> words;
  for (const LabelTerm& term : simulation.without) words.push_back(TermWords({term}));
  std::vector<std::string> lines;
  lines.push_back(fmt::format("without {}: {}; {} left", fmt::join(words, ", "),
                              NodeNames(simulation.away),
                              CountOf(simulation.nodes.size() - simulation.away.size(), "node")));
  const FailoverSettings& failover = simulation.failover;
  std::string when = "as soon as leases end";
  if (failover.policy == FailoverPolicy::kAfter) {
    when = fmt::format("{} after their leaders are gone (failover-delay)",
                       FormatDuration(failover.delay));
  }
  if (failover.lock_delay.count() > 0) {
    when += fmt::format(", and not before the lock-delay of {} is over",
                        FormatDuration(failover.lock_delay));
  }
  const std::size_t claims = simulation.forecast.claims.size();
  lines.push_back(claims == 0
                      ? "no shard would be claimed"
                      : fmt::format("{} would be claimed {}", CountOf(claims, "shard"), when));
  return lines;
}

std::vector<std::string> LeaderlessLines(const Simulation& simulation, const Placement& placement) {
  using Why = Leaderless::Why;
  std::vector<std::string> lines;
  for (const Leaderless& leaderless : simulation.leaderless) {
    const bool one = leaderless.count == 1;
    const std::string shards = CountOf(leaderless.count, "shard");
    const std::string numbers = RangeWords(leaderless.shards);
    switch (leaderless.why) {
      case Why::kRule:
        lines.push_back(fmt::format("rule {} ({}) would let nobody lead {}: {}", leaderless.rule,
                                    TermWords(placement[leaderless.rule - 1].require), shards,
                                    numbers));
        break;
      case Why::kNoNode:
        lines.push_back(
            fmt::format("no node that may lead would be left for {}: {}", shards, numbers));
        break;
      case Why::kWaitsForLeader:
        lines.push_back(fmt::format("failover=never: {} would wait for the nodes that led {}: {}",
                                    shards, one ? "it" : "them", numbers));
        break;
      case Why::kWaitsNow:
        lines.push_back(fmt::format("{} {} no leader now, and nobody may claim {} yet: {}", shards,
                                    one ? "has" : "have", one ? "it" : "them", numbers));
        break;
    }
  }
  return lines;
}

Table ClaimsTable(const Simulation& simulation, bool wide) {
  const std::vector<ClaimForecast>& claims = simulation.forecast.claims;
  if (!wide) {
    Table table{{{"LED BY"}, {"COUNT", Align::kRight}, {"SHARDS"}}, {}};
    std::map<NodeId, std::vector<ShardRange>> shards;
    std::map<NodeId, std::size_t> counts;
    for (const ClaimForecast& claim : claims) {
      AddToRanges(claim.shard, shards[claim.to]);
      ++counts[claim.to];
    }
    for (const auto& [node, ranges] : shards) {
      table.rows.push_back({{node}, {std::to_string(counts[node])}, {RangeWords(ranges)}});
    }
    return table;
  }
  Table table{{{"SHARD", Align::kRight}, {"LED BY"}, {"THEN"}, {"RULE", Align::kRight}}, {}};
  for (const ClaimForecast& claim : claims) {
    const NodeId& from = simulation.leaders[claim.shard.value];
    table.rows.push_back({{std::to_string(claim.shard.value)},
                          {from.empty() ? "-" : from},
                          {claim.to},
                          {claim.rule == 0 ? "-" : std::to_string(claim.rule)}});
  }
  return table;
}

Table OutlookTable(const Simulation& simulation) {
  Table table{{{"NODE"},
               {"WEIGHT", Align::kRight},
               {"LEADS", Align::kRight},
               {"SHARE", Align::kRight},
               {"GIVES", Align::kRight},
               {"GETS", Align::kRight},
               {"THEN", Align::kRight},
               {"SHARE THEN", Align::kRight}},
              {}};
  const std::size_t all = simulation.leaders.size();
  for (const NodeOutlook& node : simulation.nodes) {
    const auto cell = [&](const std::string& text) { return Cell{node.away ? "-" : text}; };
    table.rows.push_back({{node.node},
                          {std::to_string(node.weight)},
                          {std::to_string(node.leads)},
                          {ShareWord(node.leads, all)},
                          cell(std::to_string(node.gives)),
                          cell(std::to_string(node.gets)),
                          node.away ? Cell{"away", Style::kBad} : Cell{std::to_string(node.then())},
                          cell(ShareWord(node.then(), all))});
  }
  return table;
}

Table KeptTable(const Simulation& simulation, const Placement& placement) {
  Table table{
      {{"RULE", Align::kRight}, {"LED BY"}, {"NOW", Align::kRight}, {"THEN", Align::kRight}}, {}};
  for (std::size_t r = 0; r < simulation.rules.size(); ++r) {
    const auto& [now, then] = simulation.rules[r];
    const auto row = [&](std::string by, std::uint32_t before, std::uint32_t after, Style style) {
      table.rows.push_back({{std::to_string(r + 1)},
                            {std::move(by)},
                            {std::to_string(before)},
                            {std::to_string(after), after > 0 ? style : Style::kPlain}});
    };
    const std::vector<LabelTerms>& prefer = placement[r].prefer;
    for (std::size_t p = 0; p < prefer.size(); ++p) {
      row(fmt::format("preference {}: {}", p + 1, TermWords(prefer[p])), now.by_preference[p],
          then.by_preference[p], Style::kPlain);
    }
    const std::string others = TermWords(placement[r].require);
    if (prefer.empty() || now.by_others + then.by_others > 0) {
      row(prefer.empty() ? others : "others: " + others, now.by_others, then.by_others,
          Style::kPlain);
    }
    if (now.against_rule + then.against_rule > 0) {
      row("nodes that it forbids", now.against_rule, then.against_rule, Style::kWarning);
    }
    if (now.by_nobody + then.by_nobody > 0) {
      row("nobody", now.by_nobody, then.by_nobody, Style::kBad);
    }
  }
  return table;
}

std::string SimulationJson(const Simulation& simulation, const Placement& placement) {
  const PlacementForecast& forecast = simulation.forecast;
  const FailoverSettings& failover = simulation.failover;
  json::array without;
  for (const LabelTerm& term : simulation.without) {
    without.push_back(json::string(TermWords({term})));
  }
  json::array rules = RulesJson(forecast, placement);
  for (std::size_t r = 0; r < rules.size(); ++r) {
    rules[r].as_object()["led_now"] = KeptJson(simulation.rules[r].now);
    rules[r].as_object()["led_then"] = KeptJson(simulation.rules[r].then);
  }
  json::object document{{"without", std::move(without)},
                        {"away", json::array(simulation.away.begin(), simulation.away.end())},
                        {"failover", ToString(failover.policy)},
                        {"failover_delay_ms", nullptr},
                        {"lock_delay_ms", failover.lock_delay.count()},
                        {"claims", SimulatedClaimsJson(simulation)},
                        {"moves", MovesJson(forecast)},
                        {"nodes", OutlookJson(simulation)},
                        {"rules", std::move(rules)},
                        {"without_rule", forecast.without_rule},
                        {"leaderless", simulation.leaderless_count},
                        {"leaderless_shards", LeaderlessJson(simulation)}};
  if (failover.policy == FailoverPolicy::kAfter) {
    document["failover_delay_ms"] = failover.delay.count();
  }
  return json::serialize(document);
}

}  // namespace baton::app
