// AssignmentFrom: turns a view into the input of the assignment (assignment.h). AssignmentReader:
// does this for single shards.
//
// Pure functions of the view and the time.
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

/// A view in the form that the assignment reads. The members are the live ones (MemberFact::Live),
/// without NodesThatGetNothing (may_claim.h). `shard_of[i]` is the number of the shard
/// input.shards[i]. A shard is left out in these cases:
///  - Its record is damaged or has a newer schema, and no node may replace it now
///    (Claimable::kLater, kByNobody).
///  - It has a leader that is not among the members: the leader's member record is not live, or the
///    leader gets nothing for now. If the record is damaged and the last known leader's session
///    lives (Claimable::kByLastLeader), that leader counts as the leader.
///  - FailoverPolicy::kNever keeps the shard for a node that gets nothing for now, or that can't
///    take the shard back (MayTakeBack). A node can't take it back if it is away, has another state
///    directory, or is forbidden by a placement rule.
///  - It is a vacancy, and the placement rules allow no member with a weight above 0.
///
/// Some shards without a leader count as led by a member, in these cases:
///  - The failover policy keeps the shard for a member that may claim it again (MayTakeBack), also
///    while the shard has Claimable::kAfterWait.
///  - The record is damaged, and the member is the last known leader (Claimable::kByLastLeader).
///  - The member is this view's own node, and may claim a shard with LockedForOthers.
///
/// Other shards have AssignmentShard::waits in these cases: FailoverPolicy::kAfter keeps the shard;
/// the shard has Claimable::kAfterWait; the shard has LockedForOthers.
struct AssignmentOfView {
  AssignmentInput input;
  std::vector<ShardId> shard_of;
  /// By shards[i]: whether the shard's leader could give it away; empty: each leader could. False
  /// if nobody leads the shard now, even if it counts as led. Also false if the leader stops, and
  /// the failover policy keeps the shard for this leader.
  std::vector<bool> movable;
  /// The first time after `now` at which the assignment may change because time passes; max: none
  /// is known. Counts these changes: a member that gets nothing for now takes part again; a shard's
  /// Claimable::kAfterWait ends; FailoverPolicy::kAfter lets other nodes claim a shard. Leaves out
  /// these: a damaged record may be replaced; LockedForOthers ends; an unsteady time ends that does
  /// not count now, for example because more nodes rest than are steady (see
  /// AssignmentMembersUntil).
  TimePoint changes_at = TimePoint::max();
  /// True if FailoverPolicy::kAfter is set, and some shard with an owner (OwnerOf) is kept for this
  /// owner or has Claimable::kAfterWait.
  bool owners_awaited = false;
  /// The shards that this view's own node may claim now, and no other node: they are kept for this
  /// node, or have LockedForOthers. Some of them may be left out of the assignment.
  std::vector<ShardId> to_take_back;

  /// Adds the shard if it takes part. REQUIRES (not checked): shards are added in the order of
  /// their numbers.
  void Add(ShardId shard, const ShardOfAssignment& read);
};
/// Reads all shards. `settle` and `now` decide which damaged records may be replaced (see
/// ClaimableNow). `now` also decides which waits are over.
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
/// Reads the members of an assignment from a view. Takes O(members x (placement rules + 1)).
AssignmentMembers AssignmentMembersFrom(const View& view, TimePoint now);
/// The next time after `now` at which AssignmentMembersFrom may return something else, although the
/// view has not changed; max: none is known. Takes O(members).
TimePoint AssignmentMembersUntil(const View& view, TimePoint now);

/// Reads the shards of an assignment from a view. REQUIRES (not checked): `members` is the result
/// of AssignmentMembersFrom for the same view and time. `view` and `members` outlive this object,
/// and do not change meanwhile.
class AssignmentReader {
 public:
  /// Takes O(members).
  AssignmentReader(const View& view, const AssignmentMembers& members, Duration settle,
                   TimePoint now);

  /// Reads a shard, and updates changes_at, owners_awaited and to_take_back. A later reader returns
  /// the same for the shard until this reader's NextChange, as long as none of these change: the
  /// members; the group's settings; the shard's record, move and standbys; the sessions of the
  /// nodes that the record and the move name; the `ripe` key of the shard's owner.
  ShardOfAssignment Read(ShardId shard);
  /// The next time after `now` at which Read may return something else, although the view has not
  /// changed; max: none is known.
  TimePoint NextChange(ShardId shard) const;

  // As in AssignmentOfView, of the shards that were read. changes_at also counts all members, and
  // all shards that wait after deaths. TakeToTakeBack also forgets what it returns.
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

/// Further input of PlanAll. REQUIRES (not checked): of the same view as the assignment.
struct PlanNeeds {
  const ShardRules& rules;
  /// Returns the present term of a shard. Called only for shards that are moved.
  std::function<Term(ShardId)> term_of;
  /// Returns a member of the assignment. Called only for targets of moves.
  std::function<const MemberFact&(const NodeId&)> member_of;
};
/// Returns the moves that would balance the group now, without any delay, cooldown or limit. Leaves
/// out vacancies, and shards that already have a live move to one of the members. Also leaves out
/// shards that are not movable (AssignmentOfView::movable). Of each MoveFact, sets only `shard`,
/// `ends`, `from`, `to`, `reason` (kDrain or kRebalance) and `cause`.
std::vector<MoveFact> PlanAll(const AssignmentOfView& assignment, const PlanNeeds& needs);

/// Why the shard has no leader. If the record names no leader, this is the record's reason. If the
/// record names a leader: kProcessDied if the leader's process was proven dead; otherwise
/// kLeaseExpired if this view saw the leader's session alive; otherwise kStartup. REQUIRES (not
/// checked): `record` is readable and not in force.
Reason VacancyReason(const View& view, const RecordFact& record);

}  // namespace baton::core
