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
  /// By any node that may begin to lead, but not yet: its last leaders died soon (DeathBackoff).
  /// Such a shard counts as no vacancy, but a seat for it stays free.
  kAfterWait,
  kByNobody,  ///< its record has a newer schema
  kLed,       ///< its leadership is in force
};
/// `settle` is added to the time after which every session must be over (see kLater).
Claimable ClaimableNow(const View& view, ShardId shard, Duration settle, TimePoint now);
/// How many vacancies need nothing but a claim. Does not look at each shard. Leaves out shards with
/// unreadable records, also if they may be claimed.
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
