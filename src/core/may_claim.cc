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

Eligibility EligibilityOf(std::uint32_t weight, bool draining) {
  if (weight == 0) return Eligibility::kNever;
  return draining ? Eligibility::kLastResort : Eligibility::kYes;
}

Eligibility EligibilityOf(const View& view, const MemberFact& member) {
  if (!member.Live()) return Eligibility::kNever;
  return EligibilityOf(member.weight, view.Draining(member));
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
  const bool unsteady = now < view.steadiness().UnsteadyUntil(node);
  return !unsteady || !RestingNodes(view, now).contains(node);
}

}  // namespace baton::core
