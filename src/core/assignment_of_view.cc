#include "core/assignment_of_view.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/causes.h"
#include "core/may_claim.h"

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

void AssignmentOfView::Add(ShardId shard, const ShardOfAssignment& read) {
  if (!read.takes_part) return;
  input.shards.push_back(read.shard);
  shard_of.push_back(shard);
  movable.push_back(read.movable);
}

AssignmentMembers AssignmentMembersFrom(const View& view, TimePoint now) {
  AssignmentMembers result;
  result.get_nothing = NodesThatGetNothing(view, now);
  std::vector<const MemberFact*> facts;
  for (const auto& [node, member] : view.members()) {
    if (!member.Live() || result.get_nothing.contains(node)) continue;
    result.members.push_back(
        {.id = node, .weight = member.weight, .draining = view.Draining(member)});
    result.sessions.push_back(member.session);
    facts.push_back(&member);
  }
  result.pools = PoolsFor(view.rules().placement(), result.members, facts);
  result.keeps = StopAndKeep(view, facts);
  return result;
}

// Also the end of a rest that does not count now, because too many nodes rest.
TimePoint AssignmentMembersUntil(const View& view, TimePoint now) {
  TimePoint first = TimePoint::max();
  for (const auto& [node, member] : view.members()) {
    const TimePoint until = view.steadiness().UnsteadyUntil(node);
    if (until > now) first = std::min(first, until);
  }
  return first;
}

AssignmentReader::AssignmentReader(const View& view, const AssignmentMembers& members,
                                   Duration settle, TimePoint now)
    : view_(view), members_(members), settle_(settle), now_(now) {
  changes_at_ = FirstEnd(view, members.get_nothing, now);
  for (const AssignmentMember& member : members.members) {
    index_.emplace_hint(index_.end(), member.id, static_cast<MemberIndex>(index_.size()));
  }
  index_of_leader_ = IndexesOfLeaders(view, index_);
}

MemberIndex AssignmentReader::IndexOf(const NodeId& node) const {
  const auto found = index_.find(node);
  return found != index_.end() ? found->second : kNobody;
}

MemberIndex AssignmentReader::IndexOfLeader(ShardId shard) const {
  return index_of_leader_[view_.leaders().Of(shard)];
}

// The first ready standby of a vacancy that takes part.
MemberIndex AssignmentReader::FirstReady(ShardId shard, MemberIndex avoids) const {
  if (view_.standbys().empty()) return kNobody;
  for (const NodeId& node : view_.StandbysOf(shard)) {
    const MemberIndex member = IndexOf(node);
    if (member == kNobody || member == avoids) continue;
    if (view_.member(node)->ReadyFor(shard)) return member;
  }
  return kNobody;
}

MemberIndex AssignmentReader::TargetOfMove(ShardId shard) const {
  if (view_.moves().empty()) return kNobody;
  const MoveFact* const move = view_.move(shard);
  return move != nullptr && view_.LiveMove(*move) ? IndexOf(move->to) : kNobody;
}

// A shard that nobody may claim yet, or only its owner. It counts as the owner's if the policy
// keeps it and the owner is here: others need no room for it then.
void AssignmentReader::KeepOrWait(ShardId shard, bool waits, AssignmentShard& entry) {
  const NodeId& owner = OwnerOf(view_, shard);
  const bool after = view_.failover().policy == FailoverPolicy::kAfter;
  if (waits && now_ >= view_.deaths().WaitsUntil(shard)) {
    changes_at_ = std::min(changes_at_, LockedUntil(view_, shard));
  }
  owners_awaited_ = owners_awaited_ || (after && !owner.empty());
  entry.waits = waits;
  const TimePoint others_from = OthersFrom(view_, shard);
  if (others_from <= now_) return;
  changes_at_ = std::min(changes_at_, others_from);
  const bool may = MayTakeBack(view_, shard, owner);
  if (may && !waits && owner == view_.self()) to_take_back_.push_back(shard);
  entry.leader = may ? IndexOf(owner) : kNobody;
  entry.waits = after && entry.leader == kNobody;
}

// A shard that any node may claim.
void AssignmentReader::ReadVacancy(ShardId shard, AssignmentShard& entry) {
  const RecordFact& record = view_.record(shard);
  if (record.present && record.readability == Readability::kReadable) {
    if (LockedForOthers(view_, shard, now_)) {
      const bool may = MayClaim(view_, shard, view_.self(), settle_, now_);
      if (may) to_take_back_.push_back(shard);
      entry.leader = may ? IndexOf(view_.self()) : kNobody;
      entry.waits = !may;
    } else if (!record.leader.empty()) {
      entry.prefers = IndexOfLeader(shard);
    } else if (record.reason == Reason::kCallbackTimeout &&
               view_.SessionAlive({record.resigned_by, record.session})) {
      entry.avoids = IndexOf(record.resigned_by);
    }
  }
  if (entry.vacant()) entry.standby = FirstReady(shard, entry.avoids);
}

ShardOfAssignment AssignmentReader::Read(ShardId shard) {
  ShardOfAssignment read;
  AssignmentShard& entry = read.shard;
  const Claimable claimable = ClaimableNow(view_, shard, settle_, now_);
  const std::size_t rule = view_.rules().NumberOf(shard);
  if (rule < view_.rules().size()) entry.pool = members_.pools.of_rule[rule];
  switch (claimable) {
    case Claimable::kLed: entry.leader = IndexOfLeader(shard); break;
    case Claimable::kByLastLeader:
      entry.leader = IndexOf(view_.LastKnownLeader(shard)->node);
      break;
    case Claimable::kAfterWait:
    case Claimable::kByOwner: KeepOrWait(shard, claimable == Claimable::kAfterWait, entry); break;
    case Claimable::kByAnyNode: ReadVacancy(shard, entry); break;
    default: return read;
  }
  // the leader's member value can't be read, but its session lives
  if (claimable != Claimable::kByAnyNode && !entry.waits && entry.leader == kNobody) return read;
  if (entry.pool != 0 && entry.vacant() && !members_.pools.Feasible(rule)) return read;
  entry.moving_to = TargetOfMove(shard);
  read.movable = claimable == Claimable::kLed && !members_.keeps[entry.leader];
  read.takes_part = true;
  return read;
}

TimePoint AssignmentReader::NextChange(ShardId shard) const {
  TimePoint next = TimePoint::max();
  const auto add = [&](TimePoint at) {
    if (at > now_) next = std::min(next, at);
  };
  if (view_.InForce(shard)) return next;
  const RecordFact& record = view_.record(shard);
  if (record.present && record.readability != Readability::kReadable) {
    if (view_.damage().contains(shard)) add(DamageClaimableFrom(view_, shard, settle_));
    return next;
  }
  add(view_.deaths().WaitsUntil(shard));
  add(LockedUntil(view_, shard));
  add(OthersFrom(view_, shard));
  const auto unled = view_.UnledSince(shard);
  if (unled && LockedForOthers(view_, shard, now_)) add(*unled + view_.failover().lock_delay);
  return next;
}

AssignmentOfView AssignmentFrom(const View& view, Duration settle, TimePoint now) {
  AssignmentMembers members = AssignmentMembersFrom(view, now);
  AssignmentReader reader(view, members, settle, now);
  AssignmentOfView result;
  result.input.shards.reserve(view.shard_count());
  result.shard_of.reserve(view.shard_count());
  result.movable.reserve(view.shard_count());
  for (std::uint32_t s = 0; s < view.shard_count(); ++s) {
    result.Add(ShardId{s}, reader.Read(ShardId{s}));
  }
  result.changes_at = reader.changes_at();
  result.owners_awaited = reader.owners_awaited();
  result.to_take_back = reader.TakeToTakeBack();
  result.input.members = std::move(members.members);
  result.input.pools = std::move(members.pools.pools);
  return result;
}

}  // namespace baton::core
