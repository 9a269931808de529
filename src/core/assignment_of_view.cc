#include "core/assignment_of_view.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/causes.h"
#include "core/may_claim.h"
#include "core/pools.h"

namespace baton::core {
namespace {

// By the leaders' numbers: a group may have a hundred times as many shards as nodes.
std::vector<MemberIndex> IndexesOfLeaders(const View& view,
                                          const std::map<NodeId, MemberIndex>& index) {
  std::vector<MemberIndex> result(view.leaders().numbers(), kNobody);
  for (const auto& [node, member] : index) {
    const LeaderIndex::Number number = view.leaders().NumberOf(node);
    if (number != LeaderIndex::kNobody) result[number] = member;
  }
  return result;
}

// A shard that nobody may claim yet, or only its owner. It counts as the owner's if the policy
// keeps it and the owner is here: others need no room for it then.
template <typename IndexOf>
void KeepOrWait(const View& view, ShardId shard, Claimable claimable, TimePoint now,
                AssignmentShard& entry, AssignmentOfView& result, IndexOf index_of) {
  const NodeId& owner = OwnerOf(view, shard);
  const bool after = view.failover().policy == FailoverPolicy::kAfter;
  const bool waits = claimable == Claimable::kAfterWait;
  if (waits && now >= view.deaths().WaitsUntil(shard)) {
    result.changes_at = std::min(result.changes_at, LockedUntil(view, shard));
  }
  result.owners_awaited = result.owners_awaited || (after && !owner.empty());
  entry.waits = waits;
  const TimePoint others_from = OthersFrom(view, shard);
  if (others_from <= now) return;
  result.changes_at = std::min(result.changes_at, others_from);
  const bool may = MayTakeBack(view, shard, owner);
  if (may && !waits && owner == view.self()) result.to_take_back.push_back(shard);
  entry.leader = may ? index_of(owner) : kNobody;
  entry.waits = after && entry.leader == kNobody;
}

// The first ready standby of a vacancy that takes part. `index_of` gives a node's number.
template <typename IndexOf>
MemberIndex FirstReady(const View& view, ShardId shard, MemberIndex avoids, IndexOf index_of) {
  if (view.standbys().empty()) return kNobody;
  for (const NodeId& node : view.StandbysOf(shard)) {
    const MemberIndex member = index_of(node);
    if (member == kNobody || member == avoids) continue;
    if (view.member(node)->ReadyFor(shard)) return member;
  }
  return kNobody;
}

// When the first wait of a shard or a node is over.
TimePoint FirstEnd(const View& view, const std::map<NodeId, TimePoint>& resting, TimePoint now) {
  TimePoint first = view.deaths().NextEnd(now);
  for (const auto& [node, until] : resting) first = std::min(first, until);
  return first;
}

// By member: it stops and resigns its shards, as the failover policy keeps them for it.
std::vector<bool> StopAndKeep(const View& view, const std::vector<const MemberFact*>& members) {
  std::vector<bool> result;
  result.reserve(members.size());
  for (const MemberFact* member : members) {
    result.push_back(member->Leaves() && KeepsShardsFor(view, member->node));
  }
  return result;
}

void AddMoves(const View& view, const std::map<NodeId, MemberIndex>& index,
              AssignmentOfView& result) {
  for (const auto& [shard, move] : view.moves()) {
    const auto found = std::lower_bound(result.shard_of.begin(), result.shard_of.end(), shard);
    if (found == result.shard_of.end() || *found != shard || !view.LiveMove(move)) continue;
    const auto number = static_cast<std::size_t>(found - result.shard_of.begin());
    const auto target = index.find(move.to);
    result.input.shards[number].moving_to = target != index.end() ? target->second : kNobody;
  }
}

}  // namespace

Reason VacancyReason(const View& view, const RecordFact& record) {
  if (record.leader.empty()) return record.reason;
  const SessionRef named{record.leader, record.session};
  if (view.ProvenDead(named)) return Reason::kProcessDied;
  return view.SeenAlive(named) ? Reason::kLeaseExpired : Reason::kStartup;
}

std::vector<MoveFact> PlanAll(const AssignmentOfView& assignment, const PlanNeeds& needs) {
  std::vector<MoveFact> result;
  for (const PlannedMove& planned :
       PlanMoves(assignment.input, assignment.movable, assignment.input.shards.size())) {
    // A vacancy with a ready standby counts as held by it, but that node does not lead it yet.
    if (assignment.input.shards[planned.shard.value].vacant()) continue;
    MoveFact move;
    move.shard = assignment.shard_of[planned.shard.value];
    move.ends = needs.term_of(move.shard);
    move.from = assignment.input.members[planned.from].id;
    move.to = assignment.input.members[planned.to].id;
    move.reason = planned.reason;
    move.cause =
        CauseOf(assignment.input, planned, {needs.rules, move.shard, needs.member_of(move.to)});
    result.push_back(std::move(move));
  }
  return result;
}

AssignmentOfView AssignmentFrom(const View& view, Duration settle, TimePoint now) {
  AssignmentOfView result;
  std::map<NodeId, MemberIndex> index;
  const std::map<NodeId, TimePoint> resting = NodesThatGetNothing(view, now);
  result.changes_at = FirstEnd(view, resting, now);
  std::vector<const MemberFact*> facts;
  for (const auto& [node, member] : view.members()) {
    if (!member.Live() || resting.contains(node)) continue;
    index[node] = static_cast<MemberIndex>(result.input.members.size());
    result.input.members.push_back(
        {.id = node, .weight = member.weight, .draining = view.Draining(member)});
    facts.push_back(&member);
  }
  Pools pools = PoolsFor(view.rules().placement(), result.input.members, facts);
  const auto index_of = [&](const NodeId& node) {
    const auto found = index.find(node);
    return found != index.end() ? found->second : kNobody;
  };
  const std::vector<MemberIndex> index_of_leader = IndexesOfLeaders(view, index);
  const std::vector<bool> keeps = StopAndKeep(view, facts);
  result.input.shards.reserve(view.shard_count());
  result.shard_of.reserve(view.shard_count());
  result.movable.reserve(view.shard_count());
  for (std::uint32_t s = 0; s < view.shard_count(); ++s) {
    const ShardId shard{s};
    const RecordFact& record = view.record(shard);
    const Claimable claimable = ClaimableNow(view, shard, settle, now);
    const std::size_t rule = view.rules().NumberOf(shard);
    AssignmentShard entry;
    if (rule < view.rules().size()) entry.pool = pools.of_rule[rule];
    if (claimable == Claimable::kLed) {
      entry.leader = index_of_leader[view.leaders().Of(shard)];
    } else if (claimable == Claimable::kByLastLeader) {
      entry.leader = index_of(view.LastKnownLeader(shard)->node);
    } else if (claimable == Claimable::kAfterWait || claimable == Claimable::kByOwner) {
      KeepOrWait(view, shard, claimable, now, entry, result, index_of);
    } else if (claimable != Claimable::kByAnyNode) {
      continue;
    } else if (record.present && record.readability == Readability::kReadable) {
      if (LockedForOthers(view, shard, now)) {
        const bool may = MayClaim(view, shard, view.self(), settle, now);
        if (may) result.to_take_back.push_back(shard);
        entry.leader = may ? index_of(view.self()) : kNobody;
        entry.waits = !may;
      } else if (!record.leader.empty()) {
        entry.prefers = index_of_leader[view.leaders().Of(shard)];
      } else if (record.reason == Reason::kCallbackTimeout &&
                 view.SessionAlive({record.resigned_by, record.session})) {
        entry.avoids = index_of(record.resigned_by);
      }
    }
    if (claimable == Claimable::kByAnyNode && entry.vacant()) {
      entry.standby = FirstReady(view, shard, entry.avoids, index_of);
    }
    // the leader's member value can't be read, but its session lives
    if (claimable != Claimable::kByAnyNode && !entry.waits && entry.leader == kNobody) continue;
    if (entry.pool != 0 && entry.vacant() && !pools.Feasible(rule)) continue;
    result.input.shards.push_back(entry);
    result.shard_of.push_back(shard);
    result.movable.push_back(claimable == Claimable::kLed && !keeps[entry.leader]);
  }
  result.input.pools = std::move(pools.pools);
  AddMoves(view, index, result);
  return result;
}

}  // namespace baton::core
