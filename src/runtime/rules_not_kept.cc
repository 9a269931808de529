#include "runtime/rules_not_kept.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace baton::runtime {
namespace {

constexpr std::size_t kMaxRulesNamed = 5;

bool AnyAsksForStandbys(const Placement& placement) {
  return std::any_of(placement.begin(), placement.end(),
                     [](const PlacementRule& rule) { return rule.standbys > 0; });
}

/// Judges the leaders and standbys of one status, which must outlive it.
class StandbyJudge {
 public:
  explicit StandbyJudge(const NodeStatus& status) : placement_(status.placement) {
    if (!AnyAsksForStandbys(placement_)) return;
    for (const MemberStatus& member : status.members) {
      members_.emplace(member.fact.node, &member.fact);
    }
  }

  /// Sets the fields of RuleGaps that are about standbys of a shard that is led, each to 0 or 1.
  RuleGaps Of(const ShardStatus& shard) const {
    RuleGaps gaps;
    const auto leader = members_.find(shard.leader);
    const bool known = shard.rule > 0 && shard.rule <= placement_.size();
    if (!known || leader == members_.end()) return gaps;
    const PlacementRule& rule = placement_[shard.rule - 1];
    if (rule.standbys == 0) return gaps;
    std::vector<const MemberFact*> nodes = {leader->second};
    std::size_t ready = 0;
    if (shard.standbys != nullptr) {
      for (const StandbyStatus& standby : *shard.standbys) {
        const auto member = members_.find(standby.node);
        if (member == members_.end()) continue;
        nodes.push_back(member->second);
        if (standby.ready) ++ready;
      }
    }
    const bool fewer = nodes.size() - 1 < rule.standbys;
    gaps.fewer_standbys = fewer ? 1 : 0;
    gaps.fewer_ready_standbys = !fewer && ready < rule.standbys ? 1 : 0;
    gaps.not_apart = !rule.spread.empty() && ShareAValue(rule.spread, nodes) ? 1 : 0;
    return gaps;
  }

 private:
  const Placement& placement_;
  std::unordered_map<std::string_view, const MemberFact*> members_;  ///< empty if no rule asks
};

}  // namespace

bool ShareAValue(const std::string& label, const std::vector<const MemberFact*>& nodes) {
  std::vector<std::string_view> values;
  for (const MemberFact* node : nodes) {
    const std::string_view value = node->Label(label);
    if (std::find(values.begin(), values.end(), value) != values.end()) return true;
    values.push_back(value);
  }
  return false;
}

RulesNotKept FindRulesNotKept(const NodeStatus& status) {
  const StandbyJudge judge(status);
  RulesNotKept rules;
  for (const ShardStatus& shard : status.shards) {
    if (shard.rule == 0) continue;
    RuleGaps gaps = judge.Of(shard);
    gaps.nobody_may_lead = shard.nobody_may_lead ? 1 : 0;
    gaps.led_against_rule = shard.led_against_rule ? 1 : 0;
    gaps.without_ready_standby = shard.without_ready_standby ? 1 : 0;
    if (gaps == RuleGaps{}) continue;
    RuleGaps& all = rules[shard.rule];
    all.nobody_may_lead += gaps.nobody_may_lead;
    all.led_against_rule += gaps.led_against_rule;
    all.without_ready_standby += gaps.without_ready_standby;
    all.fewer_standbys += gaps.fewer_standbys;
    all.fewer_ready_standbys += gaps.fewer_ready_standbys;
    all.not_apart += gaps.not_apart;
  }
  return rules;
}

std::uint32_t ShardsWith(const RulesNotKept& rules, std::uint32_t RuleGaps::*gap) {
  std::uint32_t shards = 0;
  for (const auto& [number, gaps] : rules) shards += gaps.*gap;
  return shards;
}

std::string RuleNames(const Placement& placement, const std::set<std::uint32_t>& numbers) {
  std::vector<std::string> named;
  for (const std::uint32_t number : numbers) {
    if (named.size() == kMaxRulesNamed) {
      named.push_back("others");
      break;
    }
    const bool known = number > 0 && number <= placement.size();
    named.push_back(
        known ? fmt::format("rule {} ({})", number, TermWords(placement[number - 1].require))
              : fmt::format("rule {}", number));
  }
  return fmt::format("{}", fmt::join(named, ", "));
}

std::string RuleNames(const Placement& placement, const RulesNotKept& rules,
                      std::uint32_t RuleGaps::*gap) {
  std::set<std::uint32_t> numbers;
  for (const auto& [number, gaps] : rules) {
    if (gaps.*gap > 0) numbers.insert(number);
  }
  return RuleNames(placement, numbers);
}

}  // namespace baton::runtime
