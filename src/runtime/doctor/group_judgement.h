// Derives findings about the group's nodes and shards. Pure functions; any thread. Judge
// (judgement.h) calls all functions that return a finding. A finding is kOk in all cases that its
// comment does not name.
#pragma once

#include <string>

#include "runtime/control.h"
#include "runtime/doctor/finding.h"
#include "runtime/doctor/judgement.h"

namespace baton::runtime {

/// Whether some node may lead: it is live and healthy, is not drained, does not stop, and has a
/// weight above 0. Ignores placement rules. kProblem: no live node may lead. kWarning: some live
/// node is not healthy. kNotice: no node is live.
Finding Candidates(const Examination& seen);

/// Whether as many nodes are live as an operator expects. kProblem: fewer are live. kWarning: no
/// number is expected, and some nodes are gone. A node is gone if it left within the last hour
/// without a shutdown and is not back. Names at most five of these nodes.
Finding ExpectedNodes(const Examination& seen);

/// Whether each live node could take its shards back after a restart. kWarning: the policy is
/// FailoverPolicy::kNever, and some live node has no state directory, but leads shards, or has a
/// weight above 0 and is not drained.
Finding Failover(const Examination& seen);

/// Whether every shard has a leader that may act. Otherwise kProblem, with the first of these
/// reasons that applies to some shard:
///  - Its record can't be read.
///  - Nobody leads it, and none of the reasons below applies.
///  - This node leads it, but is suspended.
///  - Nobody leads it, because its leaders died soon (NodeStatus::waiting).
///  - Nobody leads it, because of the failover settings (NodeStatus::waiting_by_settings).
///  - Nobody leads it, because of a placement rule (NodeStatus::nobody_may_lead).
Finding Shards(const Examination& seen);

/// Returns words to append to a text about the shards in NodeStatus::waiting. They say how many of
/// these shards wait by the group's failover settings as well: "; 2 of these also wait by the
/// failover settings". Empty: no shard does, or the status has no shards.
std::string AlsoBySettings(const NodeStatus& status);

/// Names the placement rules of the shards whose member `which` is true, and what each rule
/// requires: "rule 2 (node=n9), rule 5 (zone=a)". Names at most five rules, and then "others".
/// Empty: there is no such shard, or the status has no shards.
std::string RulesOf(const NodeStatus& status, bool ShardStatus::*which);

/// Whether the placement rules are kept. Names the first of these that applies, and the rules:
///  - kProblem: some shards have no leader, because a rule lets no live node lead them.
///  - kWarning: a rule forbids the leaders of some shards.
///  - kWarning: a rule asks for standbys, and some shards have no ready standby.
///  - kWarning: some shards have fewer standbys than their rule asks for.
///  - kNotice: some shards have fewer ready standbys than their rule asks for.
///  - kNotice: leader and standbys of some shards share a value of the rule's `spread`.
/// Does not examine preferences.
Finding PlacementFinding(const Examination& seen);

/// Whether some shard's leaders die soon, several times in a row (core::kDeathsBeforeWaiting). The
/// shard may be what kills them. If so: kProblem while nobody may claim the shard with the most
/// deaths, otherwise kWarning.
Finding Deaths(const Examination& seen);

/// Whether some node plans moves. kNotice: an operator has paused them. kWarning: this node is
/// ready and not alone, but no node plans moves.
Finding Balance(const Examination& seen);

/// Estimates how many series of shards Prometheus gets from this node, and from the whole group.
/// kWarning: this node has more than Examination::max_shard_series. kNotice: the group has more
/// than 200,000.
Finding Series(const Examination& seen);

/// Whether damaged records are kept in etcd. kWarning: some are kept. kNotice: not known.
Finding QuarantinedRecords(const Examination& seen);

/// Whether shards can be activated. kProblem: this node fails to activate shards that it leads.
/// kWarning: this node does not fail, but live members say that they do. Only a node that fails
/// knows the details, so batonctl asks each node.
Finding Activations(const NodeStatus& status);

/// Whether callbacks of shards that this node gave up run for too long (NodeStatus::stopping). If
/// so: kWarning. Only the node itself knows this.
Finding Callbacks(const NodeStatus& status);

}  // namespace baton::runtime
