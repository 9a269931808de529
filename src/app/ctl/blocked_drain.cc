#include "app/ctl/blocked_drain.h"

#include <algorithm>
#include <cstddef>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "base/placement.h"

namespace baton::app {
namespace {

using runtime::MemberStatus;
using runtime::NodeStatus;
using runtime::ShardStatus;

constexpr std::size_t kMaxNamedRules = 3;

std::vector<const MemberFact*> OtherCandidates(const NodeStatus& status, const NodeId& node) {
  std::vector<const MemberFact*> others;
  for (const MemberStatus& member : status.members) {
    if (member.fact.node != node && runtime::MayBeginToLead(member)) others.push_back(&member.fact);
  }
  return others;
}

// The numbers of the rules that forbid all these nodes.
std::set<std::uint32_t> RulesAgainst(const std::vector<const MemberFact*>& nodes,
                                     const Placement& placement) {
  std::set<std::uint32_t> rules;
  for (std::uint32_t r = 0; r < placement.size(); ++r) {
    const auto fits = [&](const MemberFact* fact) { return fact->Fits(placement[r].require); };
    if (std::none_of(nodes.begin(), nodes.end(), fits)) rules.insert(r + 1);
  }
  return rules;
}

}  // namespace

bool HasOtherCandidate(const NodeStatus& status, const NodeId& node) {
  return !OtherCandidates(status, node).empty();
}

bool RulesMayBlock(const NodeStatus& status, const NodeId& node) {
  const auto drains = [&](const MemberStatus& member) {
    return member.fact.node == node && member.drained_by_policy && member.led > 0;
  };
  if (std::none_of(status.members.begin(), status.members.end(), drains)) return false;
  const auto others = OtherCandidates(status, node);
  return !others.empty() && !RulesAgainst(others, status.placement).empty();
}

LedShards LedBy(const NodeStatus& status, const NodeId& node) {
  const std::set<std::uint32_t> against =
      RulesAgainst(OtherCandidates(status, node), status.placement);
  std::set<std::uint32_t> rules;
  LedShards led;
  for (const ShardStatus& shard : status.shards) {
    if (shard.leader != node) continue;
    if (shard.move == nullptr && against.contains(shard.rule)) {
      ++led.blocked;
      rules.insert(shard.rule);
    } else {
      ++led.movable;
    }
  }
  led.rules.assign(rules.begin(), rules.end());
  return led;
}

std::string RuleWords(const NodeStatus& status, const std::vector<std::uint32_t>& rules) {
  BATON_CHECK(!rules.empty());
  std::vector<std::string> named;
  for (const std::uint32_t rule : rules) {
    if (named.size() == kMaxNamedRules) break;
    named.push_back(fmt::format("{} ({})", rule, TermWords(status.placement.at(rule - 1).require)));
  }
  if (rules.size() > named.size()) {
    return fmt::format("rules {} and {} more", fmt::join(named, ", "), rules.size() - named.size());
  }
  const std::string last = named.back();
  named.pop_back();
  if (named.empty()) return "rule " + last;
  return fmt::format("rules {} and {}", fmt::join(named, ", "), last);
}

}  // namespace baton::app
