// Derives findings about the group's nodes and shards, for Judge (judgement.h). Pure functions; any
// thread. A finding is kOk in all cases that its comment does not name.
#pragma once

#include <string>

#include "runtime/control.h"
#include "runtime/doctor/finding.h"
#include "runtime/doctor/judgement.h"

namespace baton::runtime {

/// Whether some node may lead: the node is live and healthy, is neither drained nor stopping, and
/// has a weight above 0. Ignores placement rules. kNotice: no node is live. kProblem: nodes are
/// live, but none may lead. kWarning: some node may lead, but a live node is unhealthy, and is not
/// drained.
Finding Candidates(const Examination& seen);

/// Whether as many nodes are live as an operator expects. kProblem: fewer nodes are live. kWarning:
/// no number is set, and some nodes are gone. A node is gone if it left within the last hour
/// without a shutdown, and is not back. Names at most five of these nodes.
Finding ExpectedNodes(const Examination& seen);

/// Whether each live node could take its shards back after a restart. kWarning: the policy is
/// FailoverPolicy::kNever, some live node has no state directory, and one of these holds:
///  - The node leads shards.
///  - The node has a weight above 0, and is not drained.
Finding Failover(const Examination& seen);

/// Whether every shard has a leader that may act. Otherwise kProblem, with the first reason that
/// applies to some shard:
///  - Its record can't be read.
///  - Nobody leads it, and no reason below applies to it.
///  - This node leads it, but is suspended.
///  - Nobody leads it, because its leaders died soon (NodeStatus::waiting).
///  - Nobody leads it, because of the failover settings (NodeStatus::waiting_by_settings).
///  - Nobody leads it, because of a placement rule (NodeStatus::nobody_may_lead).
Finding Shards(const Examination& seen);

/// Says how many shards of NodeStatus::waiting also wait by the failover settings. Append the
/// result to a text about NodeStatus::waiting: "; 2 of these also wait by the failover settings".
/// Empty: no shard waits for both reasons, or the status has no shards.
std::string AlsoBySettings(const NodeStatus& status);

/// Whether the placement rules are kept (runtime/rules_not_kept.h). Says which of these cases
/// applies first, and names the rules:
///  - kProblem: some shards have no leader, because their rule lets no live node lead them.
///  - kWarning: a rule forbids the leaders of some shards.
///  - kWarning: some shards have no ready standby, but their rule asks for standbys.
///  - kWarning: some shards have fewer standbys than their rule asks for.
///  - kNotice: the leader and standbys of some shards share a value of the label
///    PlacementRule::spread.
///  - kNotice: some shards have fewer ready standbys than their rule asks for.
/// Then names the other rules to which one of these cases applies, except the last one.
Finding PlacementFinding(const Examination& seen);

/// Whether at least core::kDeathsBeforeWaiting leaders of some shard died soon, one after another.
/// The shard may be what kills its leaders. If so: kProblem while nobody may claim the shard with
/// the most deaths; otherwise kWarning.
Finding Deaths(const Examination& seen);

/// Whether some node plans moves. kNotice: an operator has paused balance. kWarning: no node plans
/// moves, although this node is ready and the status has several members, live or not.
Finding Balance(const Examination& seen);

/// Estimates how many time series about shards Prometheus gets from this node, and from the whole
/// group. kWarning: this node has more than Examination::max_shard_series. kNotice: the group has
/// more than 200,000.
Finding Series(const Examination& seen);

/// Whether damaged records are kept in etcd. kWarning: etcd keeps some. kNotice: not known.
Finding QuarantinedRecords(const Examination& seen);

/// Whether shards can be activated. kProblem: this node fails to activate shards that it leads.
/// kWarning: this node does not fail, but live members are failing (MemberFact::failing). Only a
/// failing node knows the errors.
Finding Activations(const NodeStatus& status);

/// Whether callbacks of shards that this node gave up return too late. kWarning:
/// NodeStatus::stopping is above 0. Only the node itself knows its stopping shards.
Finding Callbacks(const NodeStatus& status);

}  // namespace baton::runtime
