#include "app/ctl/simulation_report.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <boost/json.hpp>

#include "app/ctl/placement_file.h"
#include "base/duration_text.h"

namespace baton::app {
namespace {

namespace json = boost::json;

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
          {"by_nobody", kept.by_nobody},
          {"fewer_standbys", kept.fewer_standbys},
          {"not_apart", kept.not_apart}};
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
        {"shard", claim.shard.value}, {"from", nullptr}, {"to", claim.to},
        {"why", ToString(claim.why)}, {"rule", nullptr}, {"ready_standby", claim.ready()}};
    const NodeId& from = simulation.leaders[claim.shard.value];
    if (!from.empty()) object["from"] = from;
    if (claim.rule > 0) object["rule"] = claim.rule;
    claims.push_back(std::move(object));
  }
  return claims;
}

Table EachClaimTable(const Simulation& simulation) {
  Table table{{{"SHARD", Align::kRight}, {"LED BY"}, {"THEN"}, {"RULE", Align::kRight}}, {}};
  const bool standbys = simulation.by_ready_standbys.has_value();
  if (standbys) table.columns.push_back({"READY"});
  for (const ClaimForecast& claim : simulation.forecast.claims) {
    const NodeId& from = simulation.leaders[claim.shard.value];
    std::vector<Cell> row{{std::to_string(claim.shard.value)},
                          {from.empty() ? "-" : from},
                          {claim.to},
                          {claim.rule == 0 ? "-" : std::to_string(claim.rule)}};
    if (standbys) row.push_back({claim.ready() ? "yes" : "no"});
    table.rows.push_back(std::move(row));
  }
  return table;
}

// How many of the claims are by ready standbys, in words.
std::string TakeoverWords(std::size_t ready, std::size_t claims) {
  if (claims == 1) return ready == 1 ? "by a ready standby" : "by no ready standby";
  if (ready == 0) return "none of them by a ready standby";
  if (ready == claims) return "all of them by ready standbys";
  return fmt::format("{} of them by {}", ready, ready == 1 ? "a ready standby" : "ready standbys");
}

}  // namespace

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
  if (simulation.by_ready_standbys) {
    when += ", " + TakeoverWords(*simulation.by_ready_standbys, claims);
  }
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
  if (wide) return EachClaimTable(simulation);
  struct Taken {
    std::vector<ShardRange> shards;
    std::size_t count = 0;
    std::size_t ready = 0;  ///< for how many of them the node is a ready standby
  };
  std::map<NodeId, Taken> by_node;
  for (const ClaimForecast& claim : simulation.forecast.claims) {
    Taken& taken = by_node[claim.to];
    AddToRanges(claim.shard, taken.shards);
    ++taken.count;
    if (claim.ready()) ++taken.ready;
  }
  Table table{{{"LED BY"}, {"COUNT", Align::kRight}}, {}};
  const bool standbys = simulation.by_ready_standbys.has_value();
  if (standbys) table.columns.push_back({"READY", Align::kRight});
  table.columns.push_back({"SHARDS"});
  for (const auto& [node, taken] : by_node) {
    std::vector<Cell> row{{node}, {std::to_string(taken.count)}};
    if (standbys) row.push_back({std::to_string(taken.ready)});
    row.push_back({RangeWords(taken.shards)});
    table.rows.push_back(std::move(row));
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

std::vector<std::string> StandbyLines(const Simulation& simulation, const Placement& placement) {
  std::vector<std::string> lines;
  for (std::size_t r = 0; r < simulation.rules.size(); ++r) {
    const auto& [now, then] = simulation.rules[r];
    if (then.fewer_standbys > 0) {
      lines.push_back(fmt::format("rule {}: {} would have fewer than {} (now {})", r + 1,
                                  CountOf(then.fewer_standbys, "shard"),
                                  CountOf(placement[r].standbys, "standby"), now.fewer_standbys));
    }
    if (then.not_apart > 0) {
      lines.push_back(
          fmt::format("rule {}: leader and standbys of {} would share a value of {} (now {})",
                      r + 1, CountOf(then.not_apart, "shard"), placement[r].spread, now.not_apart));
    }
  }
  return lines;
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
                        {"claims_by_ready_standbys", nullptr},
                        {"moves", MovesJson(forecast)},
                        {"nodes", OutlookJson(simulation)},
                        {"rules", std::move(rules)},
                        {"without_rule", forecast.without_rule},
                        {"leaderless", simulation.leaderless_count},
                        {"leaderless_shards", LeaderlessJson(simulation)}};
  if (failover.policy == FailoverPolicy::kAfter) {
    document["failover_delay_ms"] = failover.delay.count();
  }
  if (simulation.by_ready_standbys) {
    document["claims_by_ready_standbys"] = *simulation.by_ready_standbys;
  }
  return json::serialize(document);
}

}  // namespace baton::app
