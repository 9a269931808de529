// AssignmentFrom: the view in the form that the assignment reads. AssignmentReader: the same, shard
// by shard.
//
// Pure functions of the view and the time. Succession and the balancer read everything each time,
// the status only what has changed.
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
/// NodesThatGetNothing. `shard_of[i]` is the number of its shards[i]. It leaves out a shard if:
///  - Its record has a newer schema, or is damaged and may not be replaced (yet).
///  - Its record names a session that lives, but whose member can't take part.
///  - A node that gets nothing for now (NodesThatGetNothing) leads it, or is its last known leader
///    (Claimable::kByLastLeader), or is the node for which FailoverPolicy::kNever keeps it.
///  - FailoverPolicy::kNever keeps the shard for a node that can't take it back (MayTakeBack). The
///    node is away, has another state directory, or is forbidden by a placement rule.
///  - It is a vacancy, and the placement rules let none of the members lead it.
///
/// If a shard is kept for one of the members that may claim it again (MayTakeBack), it counts as
/// led by this member, also while it waits. Other shards that FailoverPolicy::kAfter keeps, and
/// other shards with Claimable::kAfterWait, wait (AssignmentShard::waits). A shard with
/// LockedForOthers is kept for this view's own node; it waits if this node may not claim it.
struct AssignmentOfView {
  AssignmentInput input;
  std::vector<ShardId> shard_of;
  /// By shards[i]: whether its leader could give it away. False if nobody leads the shard now, even
  /// if it counts as led because it is kept for a member. Also false if its leader stops and the
  /// failover policy keeps the shard for it. Empty: all could.
  std::vector<bool> movable;
  /// The first time after `now` at which a member that gets nothing for now may take part again, or
  /// a shard's wait ends. Max: none is known. Leaves out damaged records and LockedForOthers.
  TimePoint changes_at = TimePoint::max();
  bool owners_awaited = false;        ///< FailoverPolicy::kAfter keeps some shard for its owner
  std::vector<ShardId> to_take_back;  ///< kept for this view's own node, which may claim them now

  /// Adds the shard, if it takes part. REQUIRES: all shards are added in the order of their
  /// numbers.
  void Add(ShardId shard, const ShardOfAssignment& read);
};
/// `settle` and `now` decide when a damaged record may be replaced (see ClaimableNow).
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

/// Reads the shards of an assignment from a view. REQUIRES: `members` is AssignmentMembersFrom of
/// the same view and time. Both outlive this object, and do not change meanwhile.
class AssignmentReader {
 public:
  /// Takes O(members).
  AssignmentReader(const View& view, const AssignmentMembers& members, Duration settle,
                   TimePoint now);

  /// Reads a shard. What it finds also goes into changes_at, owners_awaited and to_take_back.
  /// Returns the same while the members, the shard's own facts, the group's settings and the
  /// shard's standbys stay the same, and `now` is before NextChange.
  ShardOfAssignment Read(ShardId shard);
  /// The next time after `now` from which Read may find something else although the view has not
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

/// Further input of PlanAll, of the same view as the assignment.
struct PlanNeeds {
  const ShardRules& rules;
  /// Returns the present term of a shard. Asked only for shards that count as led.
  std::function<Term(ShardId)> term_of;
  /// Returns a member of the assignment.
  std::function<const MemberFact&(const NodeId&)> member_of;
};
/// The moves that would balance the group now, without any delay, cooldown or limit. Leaves out
/// shards that are moving, those that nobody leads, and those that the failover policy keeps for a
/// node that stops (AssignmentOfView::movable).
/// Of each MoveFact, sets only `shard`, `ends`, `from`, `to`, `reason` and `cause`.
std::vector<MoveFact> PlanAll(const AssignmentOfView& assignment, const PlanNeeds& needs);

/// Why the shard has no leader. If the record names a leader: kProcessDied if its death was proven,
/// kLeaseExpired if this view saw its session alive, kStartup otherwise. If not: the record's
/// reason. REQUIRES: `record` is readable and not in force.
Reason VacancyReason(const View& view, const RecordFact& record);

}  // namespace baton::core
