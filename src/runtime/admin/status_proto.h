// Translates a node's status between plain values and messages of baton.v1.
//
// Pure functions; any thread. They accept any message. If an enum value is not set, or is of a
// newer version, FromProto sets the nearest harmless value:
//  - Reason: kOperator, but DepartedMember::why stays unset if the message has no reason.
//  - ShardState: kLeaderless. MemberState: kDead. MovePhase: kPlanned.
//  - SessionPhase: kOpening. HashFunction: kMurmur2. The code of a halt: kInternal.
//  - FailoverPolicy: kNever. A message without a policy gets kImmediate, because it is of an older
//    version, which fails over at once.
//
// Messages lack some fields. These have their default values after FromProto: `assignment` and
// `without_ready_standby_for` of NodeStatus; `log_records_dropped` and `requests_refused` of
// NodeCounters; all fields of MemberFact and MoveFact that v1::MemberStatus and v1::MoveStatus
// don't have, for example `directory` and `prepared_session`. NodeCounters::transitions has no
// counts of reasons of newer versions.
//
// After FromProto, three things differ from the status of the other process. A member that is not
// live is not `present`. NodeStatus::at is TimePoint{}. ShardStatus::others_from and locked_until
// are TimePoint{} plus the time that is left to wait. So OthersWait and LockWait work with this
// `at`.
#pragma once

#include "baton/v1/admin.pb.h"
#include "runtime/control.h"

namespace baton::runtime {

v1::MoveStatus ToProto(const MoveFact& move);
/// `at`: NodeStatus::at of the status that has this shard.
v1::ShardStatus ToProto(const ShardStatus& shard, TimePoint at);
v1::TransitionStatus ToProto(const Transition& transition);

/// Fills in the whole status; the shards (each with its move) only if `with_shards` is true. Calls
/// NodeStatus::TargetOf, which may take O(shards). Appends to the lists in `out`, so pass an empty
/// message.
void ToProto(const NodeStatus& status, bool with_shards, v1::NodeStatus* out);

MoveFact FromProto(const v1::MoveStatus& message);
ShardStatus FromProto(const v1::ShardStatus& message);
Transition FromProto(const v1::TransitionStatus& message);
/// Orders the shards by number. If a message has a shard twice, keeps the first. Leaves out entries
/// of `worst_failing` without a failure.
NodeStatus FromProto(const v1::NodeStatus& message);

v1::FailoverSettings::Policy FailoverPolicyOf(FailoverPolicy policy);
/// Nullopt: the policy is not specified, or is of a newer version.
std::optional<FailoverPolicy> FailoverPolicyOf(v1::FailoverSettings::Policy policy);

/// Returns the live moves of the status's shards, ordered by shard. GetStatusResponse has them
/// beside the status.
std::vector<MoveFact> LiveMoves(const NodeStatus& status);

}  // namespace baton::runtime
