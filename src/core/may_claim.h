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
// Each claim of a shard asks MayClaim, which combines all three parts. Others ask for single parts.
// Nodes with different views may get different answers. That does no harm: a claim's guards decide.
//
// "In force" means that a readable record names a leader whose session is alive (View::InForce).
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
  /// The record is damaged, and the last known leader's session lives. That leader may replace the
  /// record after it has stopped leading.
  kByLastLeader,
  /// The record is damaged, and an earlier leader may still act. From DamageClaimableFrom on, any
  /// node may replace the record.
  kLater,
  /// Nobody may claim the shard yet. Its last leaders died soon after they began to lead
  /// (DeathBackoff), or the last leader's application may still act (FailoverSettings::lock_delay).
  /// After the wait the answer is kByAnyNode or kByOwner.
  kAfterWait,
  /// The failover policy keeps the shard for its owner (OwnerOf). Nobody else may claim the shard,
  /// even if the owner is away.
  kByOwner,
  /// The record has a newer schema. Or the record is damaged, the last leader's session is not
  /// known to live, and the failover policy is kNever. In the second case an operator can release
  /// the shard.
  kByNobody,
  kLed,  ///< a leadership is in force
};
/// `settle` counts only for a damaged record: see DamageOverAt.
Claimable ClaimableNow(const View& view, ShardId shard, Duration settle, TimePoint now);
/// The node that owns a shard, even while nobody leads the shard. The owner is the leader that the
/// record names, or the node that resigned the shard in order to stop. Empty: the shard has no
/// owner. This is always so if the failover policy is kImmediate, or if the record is absent or
/// can't be read. The reference is valid until the view's next Merge.
const NodeId& OwnerOf(const View& view, ShardId shard);
/// Whether the application of the shard's last leader is known to have stopped: it had released the
/// shard, or the leader's process is proven dead. False if the record is absent. REQUIRES: the
/// shard's record is absent or readable, and not in force.
bool LastLeaderStopped(const View& view, ShardId shard);
/// From this time on, a session that led before the shard's record became unreadable leads no more:
///  - If the last leader is known (View::LastKnownLeader): when this node had seen both the damage
///    and the end of that leader's session. Max: the session lives.
///  - Otherwise: when this node saw the damage, plus `settle`, plus the greatest TTL of the members
///    with a lease. This TTL counts as at least 10 s and at most 1 h.
///
/// REQUIRES: View::damage has the shard; otherwise the function throws std::out_of_range.
TimePoint DamageOverAt(const View& view, ShardId shard, Duration settle);
/// The time from which any node may claim a shard whose record can't be read, if the view does not
/// change. Without a lock delay: DamageOverAt. With a lock delay: the end of that delay. The delay
/// begins at DamageOverAt, or at the time that DamageOverAt gives for an unknown last leader, if
/// that time is later. Max: no such time is known, because the record has a newer schema, the last
/// leader's session lives, or the failover policy is kNever. REQUIRES: as DamageOverAt.
TimePoint DamageClaimableFrom(const View& view, ShardId shard, Duration settle);
/// Whether the failover policy would keep a node's shards for the node if the node stopped now.
/// Then the node would resign its shards, and none of them would move. True if the policy is kAfter
/// or kNever, and no operator drains the node.
bool KeepsShardsFor(const View& view, const NodeId& node);
/// Whether `node` is the shard's owner (OwnerOf) and may claim the shard again. Does not look at
/// waits (kAfterWait). The node must be a live member, the placement rules must allow it, and it
/// must have SameDirectory. Draining, weight 0 and NodesThatGetNothing don't matter here. REQUIRES:
/// no leadership of the shard is in force.
bool MayTakeBack(const View& view, ShardId shard, const NodeId& node);
/// Until when the lock delay keeps every node from claiming the shard; a past time: the delay is
/// over. TimePoint::min(): the group has no lock delay, or the last leader has stopped
/// (LastLeaderStopped). Max: this node does not know the time yet. The result means nothing if
/// nobody ever led the shard (no record, and View::LastTerm is 0). REQUIRES: the shard's record is
/// absent or readable, and not in force.
TimePoint LockedUntil(const View& view, ShardId shard);
/// Whether a lock delay may keep the shard from all nodes except this view's own node. This is so
/// if an earlier process of this node led the shard last, and this node alone knows that the
/// process has stopped (View::NoteStopped). The result turns false when the lock delay has passed
/// since this node learnt that nobody leads the shard. False if the group has no lock delay.
/// REQUIRES: as LastLeaderStopped.
bool LockedForOthers(const View& view, ShardId shard, TimePoint now);
/// The time from which the failover policy lets nodes other than the owner claim the shard; it may
/// be a past time. TimePoint::min(): the shard has no owner, or a mark says that the delay of
/// kAfter is over (ripe_marks.h). Max: never (kNever), or this node does not know the time yet. If
/// the record can't be read, the result is min: see DamageClaimableFrom instead. REQUIRES: no
/// leadership of the shard is in force.
TimePoint OthersFrom(const View& view, ShardId shard);

/// About how many vacancies (View::vacancies) could be claimed now. Leaves out shards that wait
/// after deaths, and shards with unreadable records. Includes shards that a failover policy or a
/// lock delay keeps. Fast: does not look at each shard.
std::size_t VacanciesToClaim(const View& view, TimePoint now);

/// Whether a node may begin to lead.
enum class Eligibility : std::uint8_t {
  kNever,  ///< the node is no live member (MemberFact::Live), or has weight 0
  /// The node is draining. It may begin to lead a shard if no node with kYes can. A node with kYes
  /// can't if a placement rule forbids the shard to it, or if it is one of NodesThatGetNothing.
  kLastResort,
  kYes,
};
Eligibility EligibilityOf(std::uint32_t weight, bool draining);
Eligibility EligibilityOf(const View& view, const MemberFact& member);
/// The eligibility that a node needs to get vacancies: kYes if some node has kYes, otherwise
/// kLastResort. Looks neither at placement rules nor at NodesThatGetNothing.
Eligibility EligibilityNeeded(const View& view);
/// Whether some node has kYes or kLastResort, so that vacancies can be filled.
bool SomebodyMayLead(const View& view);
/// Answers SomebodyMayLead for single shards, with regard to the placement rules. REQUIRES: while
/// this object lives, the view lives and does not change.
class RulesAsked {
 public:
  explicit RulesAsked(const View& view) : view_(view), known_(view.rules().size() + 1) {}
  /// Whether the placement rules let some node with kYes or kLastResort lead the shard.
  bool SomebodyMayLead(ShardId shard) { return ByRule(view_.rules().NumberOf(shard)); }
  /// Whether SomebodyMayLead(shard) is true for every shard. May be false by mistake if a rule that
  /// counts for no shard excludes all nodes.
  bool SomebodyMayLeadEach();

 private:
  bool ByRule(std::size_t rule);

  const View& view_;
  std::vector<std::optional<bool>> known_;  ///< by rule; the last: for shards without a rule
};
/// Whether a node other than `node` has kYes.
bool AnotherMayLead(const View& view, const NodeId& node);
/// Whether a node other than `node` has kYes, and the placement rules let it lead the shard.
bool AnotherMayLead(const View& view, const NodeId& node, ShardId shard);

/// The nodes with kYes that get no more shards for now, because they came and went too often
/// (steadiness.h). Each comes with the time from which it gets shards again. They keep the shards
/// that they lead. Empty if they would be more than half of the nodes with kYes.
std::map<NodeId, TimePoint> RestingNodes(const View& view, TimePoint now);

/// The nodes with kYes that get no more shards, because their member records say that activations
/// fail there. They keep the shards that they lead. Empty if the failures are common
/// (FailuresAreCommon).
std::set<NodeId> FailingNodes(const View& view);
/// Whether activations fail on so many nodes that moves of shards gain nothing. Looks at the nodes
/// with kYes. True if the member records of all of them say that activations fail. Also true if at
/// least two of the records say so, and these nodes have half of the weight or more. So one failing
/// node of two is not enough. False if there is no node with kYes.
bool FailuresAreCommon(const View& view);

/// Whether the state directory of `member`, which led the shard last, lets `member` take the shard
/// back. Under kNever: true if `member` has a state directory and led the shard with the same one.
/// Always true under the other policies.
bool SameDirectory(const View& view, ShardId shard, const MemberFact& member);

/// All nodes that get no more shards for now, each with the time from which it gets shards again.
/// They are FailingNodes, with TimePoint::max(), and RestingNodes. But RestingNodes are left out if
/// each node with kYes is failing or resting. So if there are nodes with kYes, at least one of them
/// gets shards.
std::map<NodeId, TimePoint> NodesThatGetNothing(const View& view, TimePoint now);

/// Whether `node` may claim the shard now. ClaimableNow decides which nodes may:
///  - kByLastLeader: the last known leader, even if a placement rule forbids the shard to it.
///    Nobody else.
///  - kByOwner: the owner, if MayTakeBack is true. Nobody else.
///  - kByAnyNode: each node with kYes that the placement rules allow, and that is not one of
///    NodesThatGetNothing. If there is no such node: each node with kLastResort that the rules
///    allow.
///  - Any other answer: no node.
///
/// So a last known leader or an owner may claim even if it drains, has weight 0, or is one of
/// NodesThatGetNothing.
bool MayClaim(const View& view, ShardId shard, const NodeId& node, Duration settle, TimePoint now);

}  // namespace baton::core
