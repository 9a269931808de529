#include "app/ctl/placement_forecast.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <boost/json.hpp>

#include "app/ctl/placement_file.h"
#include "app/ctl/tables.h"
#include "core/assignment.h"
#include "core/may_claim.h"
#include "core/pools.h"
#include "core/shard_rules.h"

namespace baton::app {
namespace {

namespace json = boost::json;
using core::AssignmentInput;
using core::AssignmentPool;
using core::AssignmentShard;
using core::kNobody;
using core::MemberIndex;
using runtime::MemberStatus;
using runtime::NodeStatus;
using runtime::ShardStatus;
using Why = MoveForecast::Why;

constexpr std::size_t kMaxNamedNodes = 8;
constexpr std::size_t kMaxNamedRanges = 20;

core::Eligibility EligibilityOf(const core::AssignmentMember& member) {
  return core::EligibilityOf(member.weight, member.draining);
}

// The status as the assignment reads it, with the rules' pools.
class Forecaster {
 public:
  Forecaster(const NodeStatus& status, const Placement& placement)
      : status_(status), placement_(placement) {
    rules_.Set(placement, status.shard_count);
    AddMembers();
    pools_ = core::PoolsFor(placement, input_.members, facts_);
    input_.pools = pools_.pools;
    for (const ShardStatus& shard : status.shards) {
      if (shard.shard.value < status.shard_count) AddShard(shard);
    }
  }

  PlacementForecast Make() {
    for (std::size_t r = 0; r < placement_.size(); ++r) forecast_.rules.push_back(RuleOf(r));
    CountShards();
    for (const core::PlannedClaim& claim : core::Assign(input_).claims) {
      AssignmentShard& shard = input_.shards[claim.shard.value];
      shard = {.leader = claim.to, .pool = shard.pool};
      ++forecast_.claims;
      ++forecast_.nodes[claim.to].gets;
    }
    for (const core::PlannedMove& move : core::PlanMoves(input_, {}, input_.shards.size())) {
      forecast_.moves.push_back(MoveOf(move));
      ++forecast_.nodes[move.from].gives;
      ++forecast_.nodes[move.to].gets;
    }
    std::sort(forecast_.nodes.begin(), forecast_.nodes.end(),
              [](const NodeForecast& a, const NodeForecast& b) { return a.node < b.node; });
    return std::move(forecast_);
  }

 private:
  void AddMembers() {
    for (const MemberStatus& member : status_.members) {
      if (!member.fact.Live()) continue;
      const bool draining = member.drained_by_policy || member.fact.state == MemberState::kDraining;
      index_[member.fact.node] = static_cast<MemberIndex>(input_.members.size());
      input_.members.push_back(
          {.id = member.fact.node, .weight = member.fact.weight, .draining = draining});
      facts_.push_back(&member.fact);
      forecast_.nodes.push_back({.node = member.fact.node});
    }
  }

  void AddShard(const ShardStatus& shard) {
    AssignmentShard entry;
    entry.leader = IndexOf(shard.leader);
    entry.waits = entry.leader == kNobody &&
                  (!shard.leader.empty() || shard.quarantined || shard.claims_wait.count() > 0 ||
                   runtime::WaitsBySettings(shard, status_.at));
    if (entry.leader != kNobody) ++forecast_.nodes[entry.leader].leads;
    const std::size_t rule = rules_.NumberOf(shard.shard);
    if (rule < rules_.size()) entry.pool = pools_.of_rule[rule];
    input_.shards.push_back(entry);
    shard_of_.push_back(shard.shard);
  }

  MemberIndex IndexOf(const NodeId& node) const {
    const auto found = index_.find(node);
    return found != index_.end() ? found->second : kNobody;
  }

  RuleForecast RuleOf(std::size_t rule) const {
    RuleForecast forecast;
    const std::uint32_t pool = pools_.of_rule[rule];
    const bool some = std::any_of(input_.members.begin(), input_.members.end(), [](const auto& m) {
      return EligibilityOf(m) == core::Eligibility::kYes;
    });
    const auto all = some ? core::Eligibility::kYes : core::Eligibility::kLastResort;
    const MemberFact* first = nullptr;
    for (std::size_t m = 0; m < facts_.size(); ++m) {
      if (facts_[m]->Fits(placement_[rule].require)) ++forecast.may_lead;
      const bool wanted = pool == 0
                              ? EligibilityOf(input_.members[m]) == all
                              : input_.pools[pool - 1].members[m] == AssignmentPool::Place::kWanted;
      if (!wanted) continue;
      if (first == nullptr) first = facts_[m];
      forecast.wanted.push_back(facts_[m]->node);
    }
    const std::vector<LabelTerms>& prefer = placement_[rule].prefer;
    for (std::size_t p = 0; first != nullptr && p < prefer.size(); ++p) {
      if (!first->Fits(prefer[p])) continue;
      forecast.preference = p + 1;
      break;
    }
    std::sort(forecast.wanted.begin(), forecast.wanted.end());
    return forecast;
  }

  void CountShards() {
    for (const ShardId shard : shard_of_) {
      const std::size_t rule = rules_.NumberOf(shard);
      if (rule >= rules_.size()) {
        ++forecast_.without_rule;
        continue;
      }
      ++forecast_.rules[rule].shards;
      if (!forecast_.rules[rule].wanted.empty()) continue;
      ++forecast_.nobody_count;
      std::vector<ShardRange>& nobody = forecast_.nobody;
      if (nobody.empty() || nobody.back().last + 1 != shard.value) {
        nobody.push_back({shard.value, shard.value});
      } else {
        nobody.back().last = shard.value;
      }
    }
  }

  MoveForecast MoveOf(const core::PlannedMove& move) const {
    MoveForecast forecast{.shard = shard_of_[move.shard.value],
                          .from = input_.members[move.from].id,
                          .to = input_.members[move.to].id};
    const std::size_t rule = rules_.NumberOf(forecast.shard);
    if (rule < rules_.size()) forecast.rule = static_cast<std::uint32_t>(rule + 1);
    const std::uint32_t pool = input_.shards[move.shard.value].pool;
    const auto place =
        pool == 0 ? AssignmentPool::Place::kWanted : input_.pools[pool - 1].members[move.from];
    if (place == AssignmentPool::Place::kForbidden) {
      forecast.why = Why::kForbidden;
    } else if (input_.members[move.from].draining) {
      forecast.why = Why::kDrain;
    } else if (place == AssignmentPool::Place::kAllowed) {
      forecast.why = Why::kPreferred;
    }
    return forecast;
  }

  const NodeStatus& status_;
  const Placement& placement_;
  core::ShardRules rules_;
  core::Pools pools_;
  AssignmentInput input_;
  std::vector<const MemberFact*> facts_;  ///< of the input's members
  std::vector<ShardId> shard_of_;         ///< the numbers of the input's shards
  std::map<NodeId, MemberIndex> index_;
  PlacementForecast forecast_;  ///< its nodes are in the order of the input's members until the end
};

std::string RangeWords(const std::vector<ShardRange>& ranges) {
  PlacementRule shown;
  const std::size_t count = std::min(ranges.size(), kMaxNamedRanges);
  shown.shards.assign(ranges.begin(), ranges.begin() + static_cast<std::ptrdiff_t>(count));
  std::string words = ShardWords(shown);
  if (ranges.size() > count) words += fmt::format(" and {} more ranges", ranges.size() - count);
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

}  // namespace

const char* ToString(MoveForecast::Why why) {
  switch (why) {
    case Why::kForbidden: return "rule_forbids";
    case Why::kPreferred: return "rule_prefers";
    case Why::kDrain: return "drain";
    case Why::kBalance: return "balance";
  }
  return "unknown";
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

std::string MoveWords(const PlacementForecast& forecast) {
  if (forecast.moves.empty()) return "nothing would move";
  std::map<Why, std::size_t> counts;
  for (const MoveForecast& move : forecast.moves) ++counts[move.why];
  std::vector<std::string> parts;
  const auto add = [&](Why why, const char* words) {
    if (counts[why] > 0) parts.push_back(fmt::format("{} {}", counts[why], words));
  };
  add(Why::kForbidden, "because a rule forbids their leader");
  add(Why::kPreferred, "because a rule prefers others");
  add(Why::kDrain, "because their leader drains");
  add(Why::kBalance, "to spread shards evenly");
  return fmt::format("{} would move: {}", CountOf(forecast.moves.size(), "shard"),
                     fmt::join(parts, ", "));
}

Table RulesTable(const PlacementForecast& forecast, const Placement& placement) {
  Table table{{{"RULE", Align::kRight},
               {"SHARDS", Align::kRight},
               {"REQUIRE"},
               {"MAY LEAD", Align::kRight},
               {"WANTED NOW"}},
              {}};
  for (std::size_t r = 0; r < forecast.rules.size(); ++r) {
    const RuleForecast& rule = forecast.rules[r];
    std::string wanted = NodeNames(rule.wanted);
    if (rule.preference > 0) {
      wanted += " (" + TermWords(placement[r].prefer[rule.preference - 1]) + ")";
    }
    table.rows.push_back({{std::to_string(r + 1)},
                          {std::to_string(rule.shards)},
                          {TermWords(placement[r].require)},
                          {std::to_string(rule.may_lead)},
                          rule.wanted.empty() ? Cell{"nobody", Style::kBad} : Cell{wanted}});
  }
  if (forecast.without_rule > 0) {
    table.rows.push_back({{"-"},
                          {std::to_string(forecast.without_rule)},
                          {"any node"},
                          {std::to_string(forecast.nodes.size())},
                          {"-", Style::kDim}});
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

std::string ForecastJson(const PlacementForecast& forecast, const Placement& placement) {
  json::array rules;
  for (std::size_t r = 0; r < forecast.rules.size(); ++r) {
    const RuleForecast& rule = forecast.rules[r];
    json::object object{{"rule", r + 1},
                        {"shards", rule.shards},
                        {"require", TermWords(placement[r].require)},
                        {"may_lead", rule.may_lead},
                        {"preference", nullptr},
                        {"wanted", json::array(rule.wanted.begin(), rule.wanted.end())}};
    if (rule.preference > 0) object["preference"] = rule.preference;
    rules.push_back(std::move(object));
  }
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
  json::array nodes;
  for (const NodeForecast& node : forecast.nodes) {
    nodes.push_back(json::object{{"node", node.node},
                                 {"leads", node.leads},
                                 {"gives", node.gives},
                                 {"gets", node.gets},
                                 {"then", node.then()}});
  }
  json::array nobody;
  for (const ShardRange& range : forecast.nobody) {
    nobody.push_back(json::string(ShardWords({.shards = {range}, .require = {}, .prefer = {}})));
  }
  return json::serialize(json::object{{"rules", std::move(rules)},
                                      {"without_rule", forecast.without_rule},
                                      {"nobody_may_lead", forecast.nobody_count},
                                      {"nobody_may_lead_shards", std::move(nobody)},
                                      {"claims", forecast.claims},
                                      {"moves", std::move(moves)},
                                      {"nodes", std::move(nodes)}});
}

}  // namespace baton::app
