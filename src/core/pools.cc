#include "core/pools.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "core/may_claim.h"

namespace baton::core {
namespace {

using Place = AssignmentPool::Place;

Eligibility EligibilityOf(const AssignmentMember& member) {
  return core::EligibilityOf(member.weight, member.draining);
}

std::vector<const MemberFact*> Fitting(const LabelTerms& terms,
                                       const std::vector<const MemberFact*>& nodes) {
  std::vector<const MemberFact*> fitting;
  std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(fitting),
               [&](const MemberFact* node) { return node->Fits(terms); });
  return fitting;
}

// The nodes that the rule wants of those with this eligibility.
std::vector<const MemberFact*> Wanted(const PlacementRule& rule, Eligibility eligibility,
                                      const std::vector<AssignmentMember>& members,
                                      const std::vector<const MemberFact*>& facts) {
  std::vector<const MemberFact*> nodes;
  for (std::size_t m = 0; m < members.size(); ++m) {
    if (EligibilityOf(members[m]) == eligibility) nodes.push_back(facts[m]);
  }
  return FirstChoice(rule, nodes);
}

AssignmentPool PoolOf(const PlacementRule& rule, const std::vector<AssignmentMember>& members,
                      const std::vector<const MemberFact*>& facts) {
  std::vector<const MemberFact*> wanted = Wanted(rule, Eligibility::kYes, members, facts);
  if (wanted.empty()) wanted = Wanted(rule, Eligibility::kLastResort, members, facts);
  AssignmentPool pool;
  auto next = wanted.begin();  // they are in the order of `facts`
  for (const MemberFact* fact : facts) {
    const bool wants = next != wanted.end() && *next == fact;
    if (wants) ++next;
    const Place otherwise = fact->Fits(rule.require) ? Place::kAllowed : Place::kForbidden;
    pool.members.push_back(wants ? Place::kWanted : otherwise);
  }
  return pool;
}

// Whether the pool wants every member that could get shards without rules.
bool WantsAll(const AssignmentPool& pool, const std::vector<AssignmentMember>& members) {
  const bool some = std::any_of(members.begin(), members.end(), [](const AssignmentMember& member) {
    return EligibilityOf(member) == Eligibility::kYes;
  });
  for (std::size_t m = 0; m < members.size(); ++m) {
    const Eligibility needed = some ? Eligibility::kYes : Eligibility::kLastResort;
    if (EligibilityOf(members[m]) == needed && pool.members[m] != Place::kWanted) return false;
    // Its shards must leave it at once.
    if (pool.members[m] == Place::kForbidden) return false;
  }
  return true;
}

}  // namespace

std::size_t PreferenceOf(const PlacementRule& rule, const MemberFact& node) {
  for (std::size_t p = 0; p < rule.prefer.size(); ++p) {
    if (node.Fits(rule.prefer[p])) return p + 1;
  }
  return 0;
}

std::vector<const MemberFact*> FirstChoice(const PlacementRule& rule,
                                           const std::vector<const MemberFact*>& nodes) {
  std::vector<const MemberFact*> allowed = Fitting(rule.require, nodes);
  for (const LabelTerms& preference : rule.prefer) {
    std::vector<const MemberFact*> preferred = Fitting(preference, allowed);
    if (!preferred.empty()) return preferred;
  }
  return allowed;
}

bool Pools::Feasible(std::size_t rule) const {
  const std::uint32_t pool = of_rule.at(rule);
  if (pool == 0) return true;
  const std::vector<Place>& places = pools[pool - 1].members;
  return std::find(places.begin(), places.end(), Place::kWanted) != places.end();
}

Pools PoolsFor(const Placement& placement, const std::vector<AssignmentMember>& members,
               const std::vector<const MemberFact*>& facts) {
  BATON_CHECK(facts.size() == members.size());
  Pools result;
  for (const PlacementRule& rule : placement) {
    AssignmentPool pool = PoolOf(rule, members, facts);
    if (WantsAll(pool, members)) {
      result.of_rule.push_back(0);
      continue;
    }
    const auto same = std::find(result.pools.begin(), result.pools.end(), pool);
    const auto number = static_cast<std::uint32_t>(same - result.pools.begin());
    if (same == result.pools.end()) result.pools.push_back(std::move(pool));
    result.of_rule.push_back(number + 1);
  }
  return result;
}

bool SomeChoice(const AssignmentInput& input, std::uint32_t pool) {
  std::size_t candidates = 0;
  for (std::size_t m = 0; m < input.members.size(); ++m) {
    const bool wanted = pool == 0 || input.pools[pool - 1].members[m] == Place::kWanted;
    if (wanted && EligibilityOf(input.members[m]) == Eligibility::kYes) ++candidates;
  }
  return candidates > 1;
}

}  // namespace baton::core
