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
// Each claim asks MayClaim, which combines all three. Assignment, succession, orphans, ripe marks
// and status ask for parts of it. Nodes with different views may get different
// answers. That does no harm: a claim's guards decide.
//
// Pure functions of the view and the time. REQUIRES for all: shard < view.shard_count().
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
  /// The record is damaged, and its last leader is not known or a lock delay runs. Any node may
  /// replace the record later, once every session that lived at the time of the damage must have
  /// ended, and the lock delay after that is over.
  kLater,
  /// Nobody may claim the shard yet: its last leaders died soon after they began to lead
  /// (DeathBackoff), or the last one may still act (FailoverSettings::lock_delay). Afterwards the
  /// answer is kByAnyNode or kByOwner. Until then the assignment counts it as no vacancy. If any
  /// node may claim it afterwards, some node keeps room for it (AssignmentShard::waits).
  kAfterWait,
  /// Only the shard's owner (OwnerOf) may claim it, by the group's failover policy; the owner may
  /// be away. The assignment gives the shard to no other node.
  kByOwner,
  /// The record has a newer schema. Or it is damaged, kByLastLeader does not apply, and the
  /// failover policy is kNever; then an operator can release the shard.
  kByNobody,
  kLed,  ///< a leadership is in force
};
/// `settle` is added to the time after which every session must be over (see kLater).
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
/// If the last leader is known (View::LastKnownLeader): when this node had seen both the damage and
/// the end of that leader's session; max: the session lives. Otherwise: when it saw the damage,
/// plus the greatest TTL of the members with a lease (10 s to 1 h), plus `settle`. REQUIRES:
/// View::damage has the shard (otherwise it throws std::out_of_range).
TimePoint DamageOverAt(const View& view, ShardId shard, Duration settle);
/// The time from which any node may claim a shard whose record can't be read, as long as the view
/// does not change. Max: none is known, because the record has a newer schema, the last leader's
/// session lives, or the failover policy is kNever. REQUIRES: as DamageOverAt.
TimePoint DamageClaimableFrom(const View& view, ShardId shard, Duration settle);
/// Whether the failover policy keeps a node's shards for the node while it stops. Then the node
/// resigns its shards and moves none. False if an operator drains the node.
bool KeepsShardsFor(const View& view, const NodeId& node);
/// Whether `node` is the shard's owner and may claim the shard again, apart from any wait. The node
/// must be a live member, the placement rules must allow it, and under kNever it must have the
/// state directory with which it led. An owner that drains, has weight 0 or gets nothing for now
/// may claim it all the same, because the others may not. REQUIRES: as LastLeaderStopped.
bool MayTakeBack(const View& view, ShardId shard, const NodeId& node);
/// Until when the lock delay keeps every node from claiming the shard. TimePoint::min(): it does
/// not, because there is no delay, or the last leader has stopped. Max: this node does not know the
/// time yet. REQUIRES: the shard's record is absent or readable, and not in force.
TimePoint LockedUntil(const View& view, ShardId shard);
/// Whether a lock delay may keep the shard from all nodes but this one. That is so if this node led
/// it last, and knows that its earlier process is dead (View::NoteStopped); the others don't know.
/// A node that learnt of the session's end before this one need not wait as long as this says.
/// False if there is no delay. REQUIRES: as LastLeaderStopped.
bool LockedForOthers(const View& view, ShardId shard, TimePoint now);
/// When the failover policy lets other nodes than the owner claim the shard. TimePoint::min(): it
/// keeps the shard for no node, or a mark says that it does so no more (ripe_marks.h). Max: never
/// (kNever), or this node does not know the time yet. If the record can't be read, the answer is
/// min, and DamageClaimableFrom says more. REQUIRES: the shard is not led.
TimePoint OthersFrom(const View& view, ShardId shard);

/// About how many vacancies (View::vacancies) need nothing but a claim. It is fast, because it does
/// not look at each shard. It leaves out shards that wait after deaths, and all with unreadable
/// records. It includes shards that wait for a failover policy or for a lock delay.
std::size_t VacanciesToClaim(const View& view, TimePoint now);

/// Whether a node may begin to lead.
enum class Eligibility : std::uint8_t {
  kNever,  ///< the node is no live member (MemberFact::Live), or has weight 0
  /// The node is draining. It begins to lead a shard only if no node with kYes can: each such node
  /// is forbidden by a placement rule or gets nothing for now (NodesThatGetNothing), or there is
  /// no such node.
  kLastResort,
  kYes,
};
Eligibility EligibilityOf(std::uint32_t weight, bool draining);
Eligibility EligibilityOf(const View& view, const MemberFact& member);
/// The eligibility that a node needs to get vacancies, without regard to placement rules: kYes if
/// some node has it, else kLastResort.
Eligibility EligibilityNeeded(const View& view);
/// Whether some node may begin to lead (it need not be kYes), so that vacancies can be filled.
bool SomebodyMayLead(const View& view);
/// SomebodyMayLead by shard: the placement rules may exclude some nodes. Looks at the members once
/// for each rule. REQUIRES: while this object lives, the view lives and does not change.
class RulesAsked {
 public:
  explicit RulesAsked(const View& view) : view_(view), known_(view.rules().size() + 1) {}
  /// Whether some node may begin to lead the shard.
  bool SomebodyMayLead(ShardId shard) { return ByRule(view_.rules().NumberOf(shard)); }
  /// Whether this is so for every shard. May also be false because of a rule that counts for no
  /// shard, if no node fits this rule.
  bool SomebodyMayLeadEach();

 private:
  bool ByRule(std::size_t rule);

  const View& view_;
  std::vector<std::optional<bool>> known_;  ///< by rule; the last: for shards without a rule
};
/// Whether a node other than `node` may begin to lead, and is not draining.
bool AnotherMayLead(const View& view, const NodeId& node);
/// The same for one shard: the placement rules may exclude some nodes.
bool AnotherMayLead(const View& view, const NodeId& node, ShardId shard);

/// The nodes that get nothing for now because they came and went too often (steadiness.h), each
/// with the end of this time. They keep what they lead. Empty if they would be more than half of
/// the nodes that may lead and don't drain, because then the few others, for example a node that
/// has just joined, would get everything.
std::map<NodeId, TimePoint> RestingNodes(const View& view, TimePoint now);

/// The nodes with kYes that get nothing because activations fail on them, as they say themselves.
/// They keep what they lead. Empty if the failures are common: see FailuresAreCommon.
std::set<NodeId> FailingNodes(const View& view);
/// Whether activations fail on so many nodes that moving shards gains nothing. Only nodes with
/// Eligibility::kYes count. True if all of them fail, or if at least two fail and these have half
/// of the weight or more. So one failing node of two is not enough, but the only node of a group
/// is.
bool FailuresAreCommon(const View& view);

/// Whether `member`, which led the shard last, may take it back with its present state directory.
/// True unless the policy is kNever. Under kNever, it must be the directory with which it led;
/// false if it has none.
bool SameDirectory(const View& view, ShardId shard, const MemberFact& member);

/// All nodes that get nothing for now: the failing ones, until they say otherwise
/// (TimePoint::max()), and the resting ones, until the given time. The resting ones are left out if
/// all nodes with Eligibility::kYes fail or rest. So if there are nodes with kYes, one of them
/// always gets shards.
std::map<NodeId, TimePoint> NodesThatGetNothing(const View& view, TimePoint now);

/// Whether `node` may claim the shard now. False for a node that is no member. Two kinds of nodes
/// may claim even if they drain, have weight 0, or get nothing for now (NodesThatGetNothing):
///  - The last known leader of a kByLastLeader shard, also if a placement rule forbids it.
///  - The owner of a kByOwner shard. But the placement rules must allow it, and under kNever it
///    must have the state directory with which it led.
///
/// For all other nodes the shard must be kByAnyNode, and the placement rules must allow the node.
/// The node must have kYes and not be one of NodesThatGetNothing. If no node fulfils all this,
/// kLastResort is enough.
bool MayClaim(const View& view, ShardId shard, const NodeId& node, Duration settle, TimePoint now);

}  // namespace baton::core
