#include "core/may_claim.h"

#include <algorithm>
#include <chrono>

#include "base/limits.h"

namespace baton::core {
namespace {

// A key without a lease is no session, and no session has a longer TTL than a node can ask for.
Duration GreatestTtl(const View& view) {
  Duration greatest = std::chrono::seconds(10);
  for (const auto& [node, member] : view.members()) {
    if (!member.present || member.lease.value == 0) continue;
    greatest = std::max(greatest, std::min<Duration>(member.ttl, kLongestTtlOption));
  }
  return greatest;
}

Claimable ClaimableDamage(const View& view, ShardId shard, Duration settle, TimePoint now) {
  if (DamageOverAt(view, shard, settle) == TimePoint::max()) return Claimable::kByLastLeader;
  if (view.failover().policy == FailoverPolicy::kNever) return Claimable::kByNobody;
  const TimePoint from = DamageClaimableFrom(view, shard, settle);
  return now >= from ? Claimable::kByAnyNode : Claimable::kLater;
}

const NodeId kNoNode;

}  // namespace

TimePoint DamageOverAt(const View& view, ShardId shard, Duration settle) {
  const View::Damage& damage = view.damage().at(shard);
  return damage.last_leader ? damage.over_since : damage.since + GreatestTtl(view) + settle;
}

TimePoint DamageClaimableFrom(const View& view, ShardId shard, Duration settle) {
  const FailoverSettings& failover = view.failover();
  const bool newer = view.record(shard).readability == Readability::kNewerSchema;
  const TimePoint over = DamageOverAt(view, shard, settle);
  if (newer || over == TimePoint::max() || failover.policy == FailoverPolicy::kNever) {
    return TimePoint::max();
  }
  if (failover.lock_delay == Duration{0}) return over;
  // Whatever the damage hid must be over, too, before the delay begins.
  const View::Damage& damage = view.damage().at(shard);
  return std::max(over, damage.since + GreatestTtl(view) + settle) + failover.lock_delay;
}

const NodeId& OwnerOf(const View& view, ShardId shard) {
  const RecordFact& record = view.record(shard);
  const bool immediate = view.failover().policy == FailoverPolicy::kImmediate;
  if (immediate || !record.present || record.readability != Readability::kReadable) return kNoNode;
  if (!record.leader.empty()) return record.leader;
  return record.reason == Reason::kShutdown ? record.resigned_by : kNoNode;
}

bool KeepsShardsFor(const View& view, const NodeId& node) {
  return view.failover().policy != FailoverPolicy::kImmediate &&
         view.policy({PolicyKind::kDrain, node}) == nullptr;
}

// Only this very session's proof counts, and only what its application had released by then.
bool LastLeaderStopped(const View& view, ShardId shard) {
  const RecordFact& record = view.record(shard);
  if (record.leader.empty()) return record.released;
  return view.ProvenDead({record.leader, record.session});
}

TimePoint LockedUntil(const View& view, ShardId shard) {
  const Duration delay = view.failover().lock_delay;
  if (delay == Duration{0} || LastLeaderStopped(view, shard)) return TimePoint::min();
  const auto since = view.UnledSince(shard);
  return since ? *since + delay : TimePoint::max();
}

bool LockedForOthers(const View& view, ShardId shard, TimePoint now) {
  const RecordFact& record = view.record(shard);
  const Duration delay = view.failover().lock_delay;
  const bool stopped = record.present && view.StoppedHere({record.leader, record.session});
  if (!stopped || delay == Duration{0}) return false;
  const auto since = view.UnledSince(shard);
  return !since || now < *since + delay;
}

TimePoint OthersFrom(const View& view, ShardId shard) {
  const NodeId& owner = OwnerOf(view, shard);
  if (owner.empty()) return TimePoint::min();
  if (view.failover().policy == FailoverPolicy::kNever) return TimePoint::max();
  const RipeFact* mark = view.ripe(owner);
  if (mark != nullptr && view.record(shard).revision <= mark->up_to) return TimePoint::min();
  const auto unled = view.UnledSince(shard);
  const Duration delay = view.failover().delay;
  const SessionRef last{owner, view.record(shard).session};
  const MemberFact* member = view.member(owner);
  const bool here = member != nullptr && member->present;
  // A new session of the owner, which a placement rule forbids the shard, can't take it back.
  const bool in_vain =
      here && member->Live() && !view.SessionAlive(last) && !view.rules().Allow(shard, *member);
  const Absences& absences = view.absences();
  const TimePoint over =
      in_vain ? absences.OverInVain(owner, delay) : absences.OverAt(owner, delay);
  if (!unled || over == TimePoint::max()) return TimePoint::max();
  // An owner that is here may have resigned this one only now. And if this node never saw the
  // session that the record names, the owner was back since it is known to be away.
  const bool missed = !view.SeenAlive(last);
  return (here && !in_vain) || missed ? std::max(over, *unled + delay) : over;
}

namespace {

Claimable ClaimableVacancy(const View& view, ShardId shard, TimePoint now) {
  if (now < view.deaths().WaitsUntil(shard)) return Claimable::kAfterWait;
  if (now < LockedUntil(view, shard)) return Claimable::kAfterWait;
  return now < OthersFrom(view, shard) ? Claimable::kByOwner : Claimable::kByAnyNode;
}

}  // namespace

// A pod with an empty disk may have its old name, and must not take back what it has lost.
bool SameDirectory(const View& view, ShardId shard, const MemberFact& member) {
  if (view.failover().policy != FailoverPolicy::kNever) return true;
  return member.directory != 0 && member.directory == view.record(shard).directory;
}

bool MayTakeBack(const View& view, ShardId shard, const NodeId& node) {
  const MemberFact* member = view.member(node);
  return member != nullptr && OwnerOf(view, shard) == node && member->Live() &&
         view.rules().Allow(shard, *member) && SameDirectory(view, shard, *member);
}

Claimable ClaimableNow(const View& view, ShardId shard, Duration settle, TimePoint now) {
  if (view.InForce(shard)) return Claimable::kLed;
  const RecordFact& record = view.record(shard);
  if (!record.present) {
    // somebody deleted it, or nobody ever led the shard
    const bool led = view.LastTerm(shard).value != 0;
    return led && now < LockedUntil(view, shard) ? Claimable::kAfterWait : Claimable::kByAnyNode;
  }
  if (record.readability == Readability::kNewerSchema) return Claimable::kByNobody;
  if (record.readability == Readability::kDamaged) {
    return ClaimableDamage(view, shard, settle, now);
  }
  return ClaimableVacancy(view, shard, now);
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

bool RulesAsked::ByRule(std::size_t rule) {
  std::optional<bool>& known = known_.at(rule);
  if (known) return *known;
  const Placement& rules = view_.rules().placement();
  known = std::any_of(view_.members().begin(), view_.members().end(), [&](const auto& entry) {
    return EligibilityOf(view_, entry.second) != Eligibility::kNever &&
           (rule == rules.size() || entry.second.Fits(rules[rule].require));
  });
  return *known;
}

bool RulesAsked::SomebodyMayLeadEach() {
  bool each = true;
  for (std::size_t rule = 0; rule < known_.size() && each; ++rule) each = ByRule(rule);
  return each;
}

bool AnotherMayLead(const View& view, const NodeId& node) {
  return std::any_of(view.members().begin(), view.members().end(), [&](const auto& entry) {
    return entry.first != node && EligibilityOf(view, entry.second) == Eligibility::kYes;
  });
}

bool AnotherMayLead(const View& view, const NodeId& node, ShardId shard) {
  return std::any_of(view.members().begin(), view.members().end(), [&](const auto& entry) {
    return entry.first != node && EligibilityOf(view, entry.second) == Eligibility::kYes &&
           view.rules().Allow(shard, entry.second);
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

namespace {

// Whether a node that does not drain gets this shard.
bool SomebodyStays(const View& view, ShardId shard, TimePoint now) {
  const std::map<NodeId, TimePoint> nothing = NodesThatGetNothing(view, now);
  return std::any_of(view.members().begin(), view.members().end(), [&](const auto& entry) {
    return EligibilityOf(view, entry.second) == Eligibility::kYes &&
           view.rules().Allow(shard, entry.second) && !nothing.contains(entry.first);
  });
}

}  // namespace

bool MayClaim(const View& view, ShardId shard, const NodeId& node, Duration settle, TimePoint now) {
  const MemberFact* member = view.member(node);
  const bool allowed = member != nullptr && view.rules().Allow(shard, *member);
  switch (ClaimableNow(view, shard, settle, now)) {
    // It led the shard and goes on, so no rule keeps it from that.
    case Claimable::kByLastLeader: return view.LastKnownLeader(shard)->node == node;
    case Claimable::kByOwner: return MayTakeBack(view, shard, node);
    case Claimable::kLater:
    case Claimable::kAfterWait:
    case Claimable::kByNobody:
    case Claimable::kLed: return false;
    case Claimable::kByAnyNode: break;
  }
  if (!allowed) return false;
  const Eligibility eligibility = EligibilityOf(view, *member);
  if (eligibility == Eligibility::kLastResort) return !SomebodyStays(view, shard, now);
  if (eligibility != Eligibility::kYes) return false;
  const bool doubtful = member->failing || now < view.steadiness().UnsteadyUntil(node);
  return !doubtful || !NodesThatGetNothing(view, now).contains(node);
}

}  // namespace baton::core
