#include "core/may_claim.h"

#include <algorithm>
#include <chrono>

namespace baton::core {
namespace {

Duration GreatestTtl(const View& view) {
  Duration greatest = std::chrono::seconds(10);
  for (const auto& [node, member] : view.members()) {
    if (member.present) greatest = std::max<Duration>(greatest, member.ttl);
  }
  return greatest;
}

Claimable ClaimableDamage(const View& view, ShardId shard, Duration settle, TimePoint now) {
  if (const auto last = view.LastKnownLeader(shard)) {
    return view.SessionAlive(*last) ? Claimable::kByLastLeader : Claimable::kByAnyNode;
  }
  const TimePoint since = view.DamagedSince(shard).value_or(now);
  const bool over = now >= since + GreatestTtl(view) + settle;
  return over ? Claimable::kByAnyNode : Claimable::kLater;
}

}  // namespace

Claimable ClaimableNow(const View& view, ShardId shard, Duration settle, TimePoint now) {
  if (view.InForce(shard)) return Claimable::kLed;
  const RecordFact& record = view.record(shard);
  if (!record.present) return Claimable::kByAnyNode;
  if (record.readability == Readability::kNewerSchema) return Claimable::kByNobody;
  if (record.readability == Readability::kDamaged) {
    return ClaimableDamage(view, shard, settle, now);
  }
  return now < view.deaths().WaitsUntil(shard) ? Claimable::kAfterWait : Claimable::kByAnyNode;
}

// A record that can't be read is in nobody's force, so its shard counts as a vacancy.
std::size_t VacanciesToClaim(const View& view, TimePoint now) {
  const std::size_t others = view.deaths().Waiting(now) + view.damage().size();
  return view.vacancies() - std::min<std::size_t>(view.vacancies(), others);
}

Eligibility EligibilityOf(std::uint32_t weight, bool draining) {
  if (weight == 0) return Eligibility::kNever;
  return draining ? Eligibility::kLastResort : Eligibility::kYes;
}

Eligibility EligibilityOf(const View& view, const MemberFact& member) {
  if (!member.Live()) return Eligibility::kNever;
  return EligibilityOf(member.weight, view.Draining(member));
}

Eligibility EligibilityNeeded(const View& view) {
  const bool some = std::any_of(
      view.members().begin(), view.members().end(),
      [&](const auto& entry) { return EligibilityOf(view, entry.second) == Eligibility::kYes; });
  return some ? Eligibility::kYes : Eligibility::kLastResort;
}

bool SomebodyMayLead(const View& view) {
  return std::any_of(view.members().begin(), view.members().end(), [&](const auto& entry) {
    return EligibilityOf(view, entry.second) != Eligibility::kNever;
  });
}

bool AnotherMayLead(const View& view, const NodeId& node) {
  return std::any_of(view.members().begin(), view.members().end(), [&](const auto& entry) {
    return entry.first != node && EligibilityOf(view, entry.second) == Eligibility::kYes;
  });
}

std::map<NodeId, TimePoint> RestingNodes(const View& view, TimePoint now) {
  std::map<NodeId, TimePoint> resting;
  std::size_t steady = 0;
  for (const auto& [node, member] : view.members()) {
    if (EligibilityOf(view, member) != Eligibility::kYes) continue;
    const TimePoint until = view.steadiness().UnsteadyUntil(node);
    if (now < until) {
      resting[node] = until;
    } else {
      ++steady;
    }
  }
  if (resting.size() > steady) resting.clear();
  return resting;
}

namespace {

struct Failing {
  std::set<NodeId> nodes;
  bool common = false;
};

Failing FindFailing(const View& view) {
  Failing failing;
  std::uint64_t all = 0;
  std::uint64_t failed = 0;
  std::size_t eligible = 0;
  for (const auto& [node, member] : view.members()) {
    if (EligibilityOf(view, member) != Eligibility::kYes) continue;
    ++eligible;
    all += member.weight;
    if (!member.failing) continue;
    failed += member.weight;
    failing.nodes.insert(node);
  }
  const std::size_t count = failing.nodes.size();
  failing.common = count > 0 && (count == eligible || (count > 1 && 2 * failed >= all));
  return failing;
}

}  // namespace

std::set<NodeId> FailingNodes(const View& view) {
  Failing failing = FindFailing(view);
  if (failing.common) failing.nodes.clear();
  return std::move(failing.nodes);
}

bool FailuresAreCommon(const View& view) { return FindFailing(view).common; }

std::map<NodeId, TimePoint> NodesThatGetNothing(const View& view, TimePoint now) {
  const std::set<NodeId> failing = FailingNodes(view);
  std::map<NodeId, TimePoint> nothing = RestingNodes(view, now);
  const bool some_left =
      std::any_of(view.members().begin(), view.members().end(), [&](const auto& entry) {
        return EligibilityOf(view, entry.second) == Eligibility::kYes &&
               !nothing.contains(entry.first) && !failing.contains(entry.first);
      });
  if (!some_left) nothing.clear();  // a node that flaps is better than one that fails
  for (const NodeId& node : failing) nothing[node] = TimePoint::max();
  return nothing;
}

bool MayClaim(const View& view, ShardId shard, const NodeId& node, Duration settle, TimePoint now) {
  switch (ClaimableNow(view, shard, settle, now)) {
    case Claimable::kByLastLeader: return view.LastKnownLeader(shard)->node == node;
    case Claimable::kLater:
    case Claimable::kAfterWait:
    case Claimable::kByNobody:
    case Claimable::kLed: return false;
    case Claimable::kByAnyNode: break;
  }
  const MemberFact* member = view.member(node);
  if (member == nullptr) return false;
  const Eligibility eligibility = EligibilityOf(view, *member);
  if (eligibility == Eligibility::kLastResort) return !AnotherMayLead(view, node);
  if (eligibility != Eligibility::kYes) return false;
  const bool doubtful = member->failing || now < view.steadiness().UnsteadyUntil(node);
  return !doubtful || !NodesThatGetNothing(view, now).contains(node);
}

}  // namespace baton::core
