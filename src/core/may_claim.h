// MayClaim: who may begin to lead a shard that nobody leads. This is the only place that knows.
//
// The answer has two parts: whether the shard may be claimed now (ClaimableNow), and whether the
// node may begin to lead (EligibilityOf). The assignment asks each part once for every shard and
// member; everybody else asks MayClaim. If views disagree, no harm is done: a claim's guards
// decide.
//
// Pure functions of the view and the time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

#include "base/clock.h"
#include "core/view.h"

namespace baton::core {

/// Whether a shard may be claimed now, and by whom.
enum class Claimable : std::uint8_t {
  kByAnyNode,  ///< nobody leads it: by any node that may begin to lead
  /// Its record is damaged, and the last known leader's session lives. That session stops leading,
  /// and then replaces the record.
  kByLastLeader,
  /// Its record is damaged, and nobody knows its last leader. It can be claimed once every session
  /// of that time must be over.
  kLater,
  /// By any node that may begin to lead, but not yet: its last leaders died soon (DeathBackoff), or
  /// the last one may still act (FailoverSettings::lock_delay). Such a shard counts as no vacancy,
  /// but a seat for it stays free.
  kAfterWait,
  /// By the node that led it alone (OwnerOf), once that is back: the group's failover policy says
  /// so. No vacancy for others.
  kByOwner,
  /// Its record has a newer schema; or it is damaged, and the group's failover policy is kNever:
  /// then it takes an operator, who releases the shard.
  kByNobody,
  kLed,  ///< its leadership is in force
};
/// `settle` is added to the time after which every session must be over (see kLater).
Claimable ClaimableNow(const View& view, ShardId shard, Duration settle, TimePoint now);
/// The node that a shard belongs to although nobody leads it, if the group's failover policy is not
/// kImmediate: the leader that the record names, or the node that resigned it in order to stop.
/// Empty: nobody. The policy may allow other nodes, too: see ClaimableNow.
const NodeId& OwnerOf(const View& view, ShardId shard);
/// Whether the application of the shard's last leader is known to have stopped: it had released the
/// shard, or its process is proven dead. REQUIRES: the shard's record is readable, and not in
/// force.
bool LastLeaderStopped(const View& view, ShardId shard);
/// When everybody who led by the shard's damaged record has stopped leading; max: the last known
/// leader's session lives. `settle`: see ClaimableNow. REQUIRES: the record can't be read.
TimePoint DamageOverAt(const View& view, ShardId shard, Duration settle);
/// Whether the failover policy keeps a node's shards for it while it stops, so that it resigns them
/// and moves none. Not if an operator drains the node.
bool KeepsShardsFor(const View& view, const NodeId& node);
/// Until when the lock delay keeps everybody from claiming the shard; TimePoint::min(): it does
/// not; max: this node does not know yet. REQUIRES: the shard's record is readable, and not in
/// force.
TimePoint LockedUntil(const View& view, ShardId shard);
/// When FailoverPolicy::kAfter lets other nodes than the owner claim the shard. REQUIRES: it has an
/// owner, and that is the policy.
TimePoint RipeAt(const View& view, ShardId shard);

/// How many vacancies need nothing but a claim. Does not look at each shard. Leaves out shards with
/// unreadable records, also if they may be claimed. If the failover policy is not kImmediate, or
/// there is a lock delay, it counts those that wait for these as well.
std::size_t VacanciesToClaim(const View& view, TimePoint now);

/// Whether a node may begin to lead.
enum class Eligibility : std::uint8_t {
  kNever,       ///< it does not take part, or has weight 0
  kLastResort,  ///< it is draining: only if every node that may lead is draining
  kYes,
};
Eligibility EligibilityOf(std::uint32_t weight, bool draining);
Eligibility EligibilityOf(const View& view, const MemberFact& member);
/// What a node needs, so that vacancies fall to it: kYes if some node has that, else kLastResort.
Eligibility EligibilityNeeded(const View& view);
/// Whether some node may begin to lead, so that vacancies can be filled.
bool SomebodyMayLead(const View& view);
/// Whether a node other than `node` may begin to lead, and is not draining.
bool AnotherMayLead(const View& view, const NodeId& node);

/// The nodes that get nothing for now because they came and went too often (steadiness.h), and
/// until when. They keep what they lead. Nobody rests if more than half of the nodes would: then
/// none is worse than the others, and a node that has just joined must not get everything.
std::map<NodeId, TimePoint> RestingNodes(const View& view, TimePoint now);

/// The nodes that get nothing because activations fail on them; they say so themselves. They keep
/// what they lead. Empty if the cause is common: if half of the weight or more fails, and more than
/// one node. One failing node is no common cause, unless no other node may lead.
std::set<NodeId> FailingNodes(const View& view);
/// Whether activations fail on so many nodes that nothing is gained by moving shards.
bool FailuresAreCommon(const View& view);

/// All that get nothing for now, with the time until which that is so; TimePoint::max(): until they
/// say otherwise. Some node that may begin to lead is always left, if there is one.
std::map<NodeId, TimePoint> NodesThatGetNothing(const View& view, TimePoint now);

/// Whether `node` may claim the shard now.
bool MayClaim(const View& view, ShardId shard, const NodeId& node, Duration settle, TimePoint now);

}  // namespace baton::core
