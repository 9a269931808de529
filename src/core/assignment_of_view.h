// AssignmentFrom: turns a view into the input of the assignment (assignment.h). AssignmentReader:
// does the same for single shards.
//
// Pure functions of the view and the time. Succession and the balancer read all shards each time.
// The status reads only the shards that have changed.
#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "core/assignment.h"
#include "core/pools.h"
#include "core/view.h"

namespace baton::core {

/// One shard of an assignment.
struct ShardOfAssignment {
  bool takes_part = false;  ///< false: the assignment leaves the shard out
  bool movable = false;     ///< see AssignmentOfView::movable
  AssignmentShard shard = {};
  friend bool operator==(const ShardOfAssignment&, const ShardOfAssignment&) = default;
};

/// The view in the form that the assignment reads. Its members are the live ones, without
/// NodesThatGetNothing. `shard_of[i]` is the number of the shard input.shards[i]. A shard is left
/// out in these cases:
///  - Its record has a newer schema. Or it is damaged, and nobody may replace it yet
///    (Claimable::kLater, kByNobody).
///  - Its leader, or its last known leader if that leader's session lives
///    (Claimable::kByLastLeader), is not among the members, because this node's member record is
///    not live (MemberFact::Live), or because the node gets nothing for now.
///  - FailoverPolicy::kNever keeps the shard for a node that can't take it back (MayTakeBack), or
///    for one that gets nothing for now. A node can't take it back if it is away, has another state
///    directory, or is forbidden by a placement rule.
///  - It is a vacancy, and the placement rules allow none of the members that have a positive
///    weight.
///
/// Some shards without a leader count as led by a member:
///  - The failover policy keeps the shard for a member that may claim it again (MayTakeBack). This
///    is so even while the shard has Claimable::kAfterWait.
///  - The member is the last known leader of a damaged record (Claimable::kByLastLeader).
///  - The member is this view's own node, the shard has LockedForOthers, and the node may claim it.
///
/// Of the other shards, AssignmentShard::waits is true for three kinds: those that
/// FailoverPolicy::kAfter keeps, those with Claimable::kAfterWait, and those with LockedForOthers.
struct AssignmentOfView {
  AssignmentInput input;
  std::vector<ShardId> shard_of;
  /// By shards[i]: whether its leader could give it away. False if nobody leads the shard now, even
  /// if it counts as led because it is kept for a member. Also false if its leader stops and the
  /// failover policy keeps the shard for it. Empty: each shard could be given away.
  std::vector<bool> movable;
  /// The first time after `now` at which the assignment may change because time passes: a member
  /// that gets nothing for now takes part again, a shard's Claimable::kAfterWait ends, or
  /// FailoverPolicy::kAfter lets other nodes claim a shard. Max: none is known. Does not say when
  /// damaged records may be replaced, or when LockedForOthers ends. Also leaves out the end of an
  /// unsteady time that does not count now, for example because more nodes rest than are steady
  /// (AssignmentMembersUntil has it).
  TimePoint changes_at = TimePoint::max();
  /// FailoverPolicy::kAfter is set, and some shard that has an owner (OwnerOf) is kept for it or
  /// has Claimable::kAfterWait.
  bool owners_awaited = false;
  /// The shards that only this view's own node may claim, and may claim now: they are kept for it,
  /// or LockedForOthers. Some of them may be left out of the assignment.
  std::vector<ShardId> to_take_back;

  /// Adds the shard, if it takes part. REQUIRES (not checked): shards are added in the order of
  /// their numbers.
  void Add(ShardId shard, const ShardOfAssignment& read);
};
/// Reads all shards. `settle` and `now` decide which damaged records may be replaced, and `now`
/// also decides which waits are over (see ClaimableNow).
AssignmentOfView AssignmentFrom(const View& view, Duration settle, TimePoint now);

/// The part of an assignment that all shards have in common.
struct AssignmentMembers {
  std::vector<AssignmentMember> members;
  Pools pools;
  std::vector<SessionId> sessions;          ///< by member
  std::vector<bool> keeps;                  ///< by member: it stops, and its shards are kept for it
  std::map<NodeId, TimePoint> get_nothing;  ///< NodesThatGetNothing
  friend bool operator==(const AssignmentMembers&, const AssignmentMembers&) = default;
};
/// Takes O(members x (placement rules + 1)).
AssignmentMembers AssignmentMembersFrom(const View& view, TimePoint now);
/// The next time after `now` from which AssignmentMembersFrom may return something else although
/// the view has not changed. Max: none is known. Takes O(members).
TimePoint AssignmentMembersUntil(const View& view, TimePoint now);

/// Reads the shards of an assignment from a view. REQUIRES (not checked): `members` is
/// AssignmentMembersFrom of the same view and time. View and members outlive this object, and do
/// not change meanwhile.
class AssignmentReader {
 public:
  /// Takes O(members).
  AssignmentReader(const View& view, const AssignmentMembers& members, Duration settle,
                   TimePoint now);

  /// Reads a shard, and updates changes_at, owners_awaited and to_take_back. A later reader returns
  /// the same for the shard if that reader's `now` is before this reader's NextChange, and if none
  /// of these have changed: the members; the group's settings; the shard's record, move and
  /// standbys; the sessions of the nodes that are named in the record and in the move; the `ripe`
  /// key of the shard's owner.
  ShardOfAssignment Read(ShardId shard);
  /// The next time after `now` from which Read may return something else although the view has not
  /// changed. Max: none is known.
  TimePoint NextChange(ShardId shard) const;

  // As in AssignmentOfView, of the shards that were read.
  TimePoint changes_at() const { return changes_at_; }
  bool owners_awaited() const { return owners_awaited_; }
  std::vector<ShardId> TakeToTakeBack() { return std::exchange(to_take_back_, {}); }

 private:
  MemberIndex IndexOf(const NodeId& node) const;
  MemberIndex IndexOfLeader(ShardId shard) const;
  MemberIndex FirstReady(ShardId shard, MemberIndex avoids) const;
  MemberIndex TargetOfMove(ShardId shard) const;
  void KeepOrWait(ShardId shard, bool waits, AssignmentShard& entry);
  void ReadVacancy(ShardId shard, AssignmentShard& entry);

  const View& view_;
  const AssignmentMembers& members_;
  const Duration settle_;
  const TimePoint now_;
  std::map<NodeId, MemberIndex> index_;
  std::vector<MemberIndex> index_of_leader_;  ///< by LeaderIndex::Number
  TimePoint changes_at_;
  bool owners_awaited_ = false;
  std::vector<ShardId> to_take_back_;
};

/// Further input of PlanAll. REQUIRES: it is of the same view as the assignment.
struct PlanNeeds {
  const ShardRules& rules;
  /// Returns the present term of a shard. Called only for shards that are moved.
  std::function<Term(ShardId)> term_of;
  /// Returns a member of the assignment. Called only for targets of moves.
  std::function<const MemberFact&(const NodeId&)> member_of;
};
/// The moves that would balance the group now, without any delay, cooldown or limit. Leaves out
/// vacancies, and shards that already have a live move to one of the members. Also leaves out
/// shards that are not movable (AssignmentOfView::movable): nobody leads them, or the failover
/// policy keeps them for a node that stops. Of each MoveFact, sets only `shard`, `ends`, `from`,
/// `to`, `reason` and `cause`; `reason` is kDrain or kRebalance.
std::vector<MoveFact> PlanAll(const AssignmentOfView& assignment, const PlanNeeds& needs);

/// Why the shard has no leader. If the record names a leader: kProcessDied if its process was
/// proven dead, kLeaseExpired if this view saw its session alive, kStartup otherwise. If the record
/// names no leader: the record's reason. REQUIRES (not checked): `record` is readable and not in
/// force.
Reason VacancyReason(const View& view, const RecordFact& record);

}  // namespace baton::core
