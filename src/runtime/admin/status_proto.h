// Translates a node's status between plain values and messages of baton.v1.
//
// Pure functions; any thread. They accept any message. If an enum value is not set, or is of a
// newer version, FromProto sets a default value:
//  - Reason: kOperator. But if a departed member has no reason, DepartedMember::why stays unset.
//  - ShardState: kLeaderless. MemberState: kDead. MovePhase: kPlanned.
//  - SessionPhase: kOpening. HashFunction: kMurmur2. The code of a halt: kInternal.
//  - FailoverPolicy: kNever. But if the policy is not set: kImmediate, because older versions fail
//    over at once.
//
// Messages lack some fields. After FromProto, these fields have their default values:
//  - NodeStatus: `assignment` and `without_ready_standby_for`.
//  - NodeCounters: `log_records_dropped` and `requests_refused`, and counts of reasons of newer
//    versions.
//  - MemberFact and MoveFact: all fields without a counterpart in v1::MemberStatus and
//    v1::MoveStatus, for example `directory` and `prepared_session`.
//
// After FromProto, a member that is not live is not `present`, and has no lease. NodeStatus::at is
// TimePoint{}. ShardStatus::others_from and locked_until are TimePoint{} plus the time that is left
// to wait, so OthersWait and LockWait work with this `at`.
#pragma once

#include "baton/v1/admin.pb.h"
#include "runtime/control.h"

namespace baton::runtime {

v1::MoveStatus ToProto(const MoveFact& move);
/// `at`: NodeStatus::at of the status that has this shard.
v1::ShardStatus ToProto(const ShardStatus& shard, TimePoint at);
v1::TransitionStatus ToProto(const Transition& transition);

/// Fills in the status. Fills in the shards, each with its move, only if `with_shards` is true.
/// Calls NodeStatus::TargetOf, which may take O(shards). Appends to the lists in `out`, so pass an
/// empty message.
void ToProto(const NodeStatus& status, bool with_shards, v1::NodeStatus* out);

MoveFact FromProto(const v1::MoveStatus& message);
ShardStatus FromProto(const v1::ShardStatus& message);
Transition FromProto(const v1::TransitionStatus& message);
/// Orders the shards by number. If the message has a shard twice, keeps the first entry. Leaves out
/// shards in `worst_failing` that have no failure.
NodeStatus FromProto(const v1::NodeStatus& message);

v1::FailoverSettings::Policy FailoverPolicyOf(FailoverPolicy policy);
/// nullopt: the policy is not specified, or is of a newer version.
std::optional<FailoverPolicy> FailoverPolicyOf(v1::FailoverSettings::Policy policy);

/// Returns the live moves of the shards in the status, in the order of the shards.
/// GetStatusResponse has the moves beside the status.
std::vector<MoveFact> LiveMoves(const NodeStatus& status);

}  // namespace baton::runtime
