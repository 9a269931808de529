// Derives findings about the group's nodes and shards. Pure functions; any thread. Judge
// (judgement.h) calls them all.
#pragma once

#include <string>

#include "runtime/control.h"
#include "runtime/doctor/finding.h"
#include "runtime/doctor/judgement.h"

namespace baton::runtime {

/// Whether some node may lead: a live node that is healthy, not drained, not stopping, and has a
/// weight.
Finding Candidates(const Examination& seen);

/// Whether as many nodes live as an operator expects. Names the nodes that left within the last
/// hour without a shutdown and are not back.
Finding ExpectedNodes(const Examination& seen);

/// With failover never: whether each live node could take back after a restart what it leads or may
/// lead. A node without a state directory can't.
Finding Failover(const Examination& seen);

/// Whether every shard has a leader that may act.
Finding Shards(const Examination& seen);

/// Words behind a text about NodeStatus::waiting: how many of these shards wait by the group's
/// failover settings, too. Empty: none does.
std::string AlsoBySettings(const NodeStatus& status);

/// Names the rules that count for the shards for which `which` is set, and what they require: "rule
/// 2 (node=n9), rule 5 (zone=a)". At most five, and then "others".
std::string RulesOf(const NodeStatus& status, bool ShardStatus::*which);

/// Whether the placement rules are kept: which of them let no live node lead their shards, forbid
/// the present leaders, or ask for standbys that are missing, not ready or not apart. Preferences
/// are not examined.
Finding PlacementFinding(const Examination& seen);

/// Whether some shard's leaders die again and again: the shard may be what kills them.
Finding Deaths(const Examination& seen);

/// Whether some node plans moves, and whether an operator has paused them.
Finding Balance(const Examination& seen);

/// About how many series of shards a Prometheus gets from this node, and from the group.
Finding Series(const Examination& seen);

/// Whether damaged records are kept in etcd.
Finding QuarantinedRecords(const Examination& seen);

/// Whether the node fails to activate shards that it leads, or other nodes say that they fail. Only
/// the failing node knows the details, so batonctl asks each node.
Finding Activations(const NodeStatus& status);

/// Whether callbacks of shards that the node gave up have run on for too long. Only the node itself
/// knows this.
Finding Callbacks(const NodeStatus& status);

}  // namespace baton::runtime
