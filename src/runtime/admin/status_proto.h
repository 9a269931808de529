// Translates a node's status between plain values and messages of baton.v1.
//
// Pure functions; any thread. They accept any message. An enum value of a newer version becomes the
// nearest harmless one: an unknown reason becomes "operator", an unknown shard state "leaderless",
// an unknown member state "dead", an unknown failover policy "never", an unknown session "opening",
// an unknown move's phase "planned", an unknown hash function "murmur2", and the unknown code of a
// halt kInternal. A message without a failover policy is of an older version, which fails over at
// once.
//
// Messages lack some fields, which are empty or 0 after FromProto: NodeStatus::assignment and
// without_ready_standby_for; log_records_dropped and requests_refused of NodeCounters; and of
// MemberFact its revisions, protocol, directory and more. Three things differ after FromProto: a
// member that is not live is not `present`; NodeStatus::at is TimePoint{}; and others_from and
// locked_until of ShardStatus count from TimePoint{}.
#pragma once

#include "baton/v1/admin.pb.h"
#include "runtime/control.h"

namespace baton::runtime {

v1::MoveStatus ToProto(const MoveFact& move);
/// `at`: NodeStatus::at of the status that it is from.
v1::ShardStatus ToProto(const ShardStatus& shard, TimePoint at);
v1::TransitionStatus ToProto(const Transition& transition);

/// The whole status. It has shards, each with its move, only if `with_shards`. GetStatusResponse
/// has the moves beside the status: see LiveMoves.
void ToProto(const NodeStatus& status, bool with_shards, v1::NodeStatus* out);

MoveFact FromProto(const v1::MoveStatus& message);
ShardStatus FromProto(const v1::ShardStatus& message);
Transition FromProto(const v1::TransitionStatus& message);
NodeStatus FromProto(const v1::NodeStatus& message);

v1::FailoverSettings::Policy FailoverPolicyOf(FailoverPolicy policy);
/// Nullopt: unspecified, or a policy of a newer version.
std::optional<FailoverPolicy> FailoverPolicyOf(v1::FailoverSettings::Policy policy);

/// The live moves of the status's shards, ordered by shard.
std::vector<MoveFact> LiveMoves(const NodeStatus& status);

}  // namespace baton::runtime
