// MayClaim: who may begin to lead a shard that nobody leads. Only this file decides that.
//
// The answer has three parts:
//  1. Whether the shard may be claimed now (ClaimableNow). The assignment asks this once for each
//     shard.
//  2. Whether the node may begin to lead (EligibilityOf). The assignment asks this once for each
//     member.
//  3. Whether the placement rules let the node lead this shard (View::rules). The assignment asks
//     this once for each rule (pools.h).
//
// Each claim of a shard asks MayClaim, which combines all three. Assignment, succession, orphans,
// ripe marks and status ask for single parts. Nodes with different views may get different answers.
// That does no harm: a claim's guards decide.
//
// Pure functions of the view and the time. REQUIRES for all (partly checked): shard <
// view.shard_count().
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/clock.h"
#include "core/view.h"

namespace baton::core {

/// Whether a shard may be claimed now, and by whom.
enum class Claimable : std::uint8_t {
  kByAnyNode,  ///< nobody leads the shard: any node that may begin to lead may claim it
  /// The record is damaged, and the last known leader's session lives. That session stops leading,
  /// and then replaces the record.
  kByLastLeader,
  /// The record is damaged. Its last leader is not known, or the group has a lock delay. From
  /// DamageClaimableFrom on, any node may replace the record: no earlier leader can still act then.
  kLater,
  /// Nobody may claim the shard yet. Its last leaders died soon after they began to lead
  /// (DeathBackoff), or the last leader's application may still act (FailoverSettings::lock_delay).
  /// After the wait the answer is kByAnyNode or kByOwner. Until then the assignment does not count
  /// the shard as a vacancy. If any node may claim the shard after the wait, some node keeps room
  /// for it (AssignmentShard::waits).
  kAfterWait,
  /// By the group's failover policy, only the shard's owner (OwnerOf) may claim the shard. The
  /// owner may be away. The assignment gives the shard to no other node.
  kByOwner,
  /// The record has a newer schema. Or it is damaged, kByLastLeader does not apply, and the
  /// failover policy is kNever; then an operator can release the shard.
  kByNobody,
  kLed,  ///< a leadership is in force
};
/// `settle` counts only for a damaged record: see DamageOverAt.
Claimable ClaimableNow(const View& view, ShardId shard, Duration settle, TimePoint now);
/// The node that a shard belongs to, also while nobody leads the shard. It is the leader that the
/// record names, or the node that resigned the shard in order to stop. Empty: the shard belongs to
/// no node. This is always so if the group's failover policy is kImmediate, or if the record can't
/// be read. The policy may let other nodes claim the shard, too: see ClaimableNow. The reference is
/// valid until the view's next Merge.
const NodeId& OwnerOf(const View& view, ShardId shard);
/// Whether the application of the shard's last leader is known to have stopped: it had released the
/// shard, or its process is proven dead. False if the record is absent. REQUIRES: the shard's
/// record is absent or readable, and not in force.
bool LastLeaderStopped(const View& view, ShardId shard);
/// From this time on, the session that led when the shard's record became unreadable leads no more.
/// If the last leader is known (View::LastKnownLeader), it is the time at which this node had seen
/// both the damage and the end of that leader's session; max: the session lives. Otherwise it is
/// the time at which this node saw the damage, plus `settle`, plus the greatest TTL of the members
/// with a lease. This TTL counts as at least 10 s and at most 1 h. REQUIRES: View::damage has the
/// shard; otherwise it throws std::out_of_range.
TimePoint DamageOverAt(const View& view, ShardId shard, Duration settle);
/// The time from which any node may claim a shard whose record can't be read, as long as the view
/// does not change. Without a lock delay this is DamageOverAt. With a lock delay it is the end of
/// that delay, which begins at DamageOverAt, but not before the time that DamageOverAt gives for an
/// unknown last leader. Max: no such time is known, because the record has a newer schema, the last
/// leader's session lives, or the failover policy is kNever. REQUIRES: as DamageOverAt.
TimePoint DamageClaimableFrom(const View& view, ShardId shard, Duration settle);
/// Whether the failover policy would keep a node's shards for the node if it stopped now. Such a
/// node resigns its shards when it stops, and none of them is moved. True if the policy is not
/// kImmediate, and no operator drains the node.
bool KeepsShardsFor(const View& view, const NodeId& node);
/// Whether `node` is the shard's owner (OwnerOf) and may claim the shard again. Does not look at
/// waits (kAfterWait). The node must be a live member, the placement rules must allow it, and under
/// kNever it must have the state directory with which it led. An owner that drains, has weight 0 or
/// gets nothing for now may claim the shard, too, because the others may not. REQUIRES: the shard
/// is not led.
bool MayTakeBack(const View& view, ShardId shard, const NodeId& node);
/// Until when the lock delay keeps every node from claiming the shard; a past time: the delay is
/// over. TimePoint::min(): there is nothing to wait for, because the group has no lock delay, or
/// the last leader has stopped (LastLeaderStopped). Max: this node does not know the time yet. If
/// nobody ever led the shard (no record, and View::LastTerm is 0), the result means nothing:
/// ClaimableNow ignores it then. REQUIRES: the shard's record is absent or readable, and not in
/// force.
TimePoint LockedUntil(const View& view, ShardId shard);
/// Whether a lock delay may keep the shard from all nodes except this view's own node. That is so
/// if an earlier process of this node led the shard last, and only this node knows that the process
/// is dead (View::NoteStopped). It lasts for the lock delay after this node learnt that nobody
/// leads the shard. Another node may have learnt that earlier; then it waits less long. False if
/// the group has no lock delay. REQUIRES: as LastLeaderStopped.
bool LockedForOthers(const View& view, ShardId shard, TimePoint now);
/// When the failover policy lets nodes other than the owner claim the shard; a past time: it does
/// so already. TimePoint::min(): the policy keeps the shard for no node, or a mark says that the
/// delay of kAfter is over (ripe_marks.h). Max: never (kNever), or this node does not know the time
/// yet. If the record can't be read, the result is min: see DamageClaimableFrom instead. REQUIRES:
/// the shard is not led.
TimePoint OthersFrom(const View& view, ShardId shard);

/// About how many vacancies (View::vacancies) need nothing but a claim. Does not look at each
/// shard, so it is fast. Leaves out shards that wait after deaths, and shards with unreadable
/// records. Includes shards that wait for a failover policy or for a lock delay.
std::size_t VacanciesToClaim(const View& view, TimePoint now);

/// Whether a node may begin to lead.
enum class Eligibility : std::uint8_t {
  kNever,  ///< the node is no live member (MemberFact::Live), or has weight 0
  /// The node is draining. It begins to lead a shard only if no node with kYes can. A node with
  /// kYes can't if a placement rule forbids it the shard, or if it gets nothing for now
  /// (NodesThatGetNothing).
  kLastResort,
  kYes,
};
Eligibility EligibilityOf(std::uint32_t weight, bool draining);
Eligibility EligibilityOf(const View& view, const MemberFact& member);
/// The eligibility that a node needs to get vacancies: kYes if some node has kYes, otherwise
/// kLastResort. Looks neither at placement rules nor at NodesThatGetNothing.
Eligibility EligibilityNeeded(const View& view);
/// Whether some node may begin to lead (it need not be kYes), so that vacancies can be filled.
bool SomebodyMayLead(const View& view);
/// Answers SomebodyMayLead for single shards, because the placement rules may exclude some nodes.
/// Looks at the members once for each rule. REQUIRES: while this object lives, the view lives and
/// does not change.
class RulesAsked {
 public:
  explicit RulesAsked(const View& view) : view_(view), known_(view.rules().size() + 1) {}
  /// Whether some node may begin to lead the shard.
  bool SomebodyMayLead(ShardId shard) { return ByRule(view_.rules().NumberOf(shard)); }
  /// Whether some node may begin to lead, for every shard. May also be false if only a rule that
  /// counts for no shard excludes all nodes.
  bool SomebodyMayLeadEach();

 private:
  bool ByRule(std::size_t rule);

  const View& view_;
  std::vector<std::optional<bool>> known_;  ///< by rule; the last: for shards without a rule
};
/// Whether a node other than `node` may begin to lead, and is not draining.
bool AnotherMayLead(const View& view, const NodeId& node);
/// The same for one shard: the placement rules must also allow the other node.
bool AnotherMayLead(const View& view, const NodeId& node, ShardId shard);

/// The nodes with kYes that get nothing for now because they came and went too often
/// (steadiness.h), each with the end of this time. They keep the shards that they lead. Empty if
/// they would be more than half of the nodes with kYes: otherwise the few others, for example a
/// node that has just joined, would get everything.
std::map<NodeId, TimePoint> RestingNodes(const View& view, TimePoint now);

/// The nodes with kYes that get nothing because their member records say that activations fail
/// there. They keep the shards that they lead. Empty if the failures are common: see
/// FailuresAreCommon.
std::set<NodeId> FailingNodes(const View& view);
/// Whether activations fail on so many nodes that moving shards gains nothing. Only nodes with kYes
/// count, and only failures that member records state. True if all these nodes fail, or if at least
/// two of them fail and these have half of the weight or more. So one failing node of two is not
/// enough, but the only node of a group is. False if there is no node with kYes.
bool FailuresAreCommon(const View& view);

/// Whether the state directory of `member`, which led the shard last, lets it take the shard back.
/// Under kNever, it must be the directory with which the member led; false if the member has no
/// directory. Always true under the other policies.
bool SameDirectory(const View& view, ShardId shard, const MemberFact& member);

/// All nodes that get nothing for now, each with the end of this time. They are FailingNodes, with
/// TimePoint::max() (until they say otherwise), and RestingNodes. But RestingNodes are left out if
/// each node with kYes is failing or resting. So if there are nodes with kYes, at least one of them
/// always gets shards. (If all of them fail, the failures are common, and FailingNodes is empty.)
std::map<NodeId, TimePoint> NodesThatGetNothing(const View& view, TimePoint now);

/// Whether `node` may claim the shard now. False for a node that is no member. ClaimableNow decides
/// which nodes may:
///  - kByLastLeader: only the last known leader, even if a placement rule forbids it the shard.
///  - kByOwner: only the owner, if MayTakeBack is true.
///  - kByAnyNode: each node with kYes that the placement rules allow, and that is not one of
///    NodesThatGetNothing. If there is no such node: each node with kLastResort that the rules
///    allow.
///  - Any other answer: no node.
///
/// So a last known leader or an owner may claim even if it drains, has weight 0, or gets nothing
/// for now.
bool MayClaim(const View& view, ShardId shard, const NodeId& node, Duration settle, TimePoint now);

}  // namespace baton::core
