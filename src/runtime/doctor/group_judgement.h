// Derives findings about the group's nodes and shards. Pure functions; judgement.h lists them all.
#pragma once

#include "runtime/control.h"
#include "runtime/doctor/finding.h"
#include "runtime/doctor/judgement.h"

namespace baton::runtime {

/// Whether somebody may lead: not all live nodes are drained or have weight 0.
Finding Candidates(const Examination& seen);

/// Whether as many nodes live as an operator expects, and who left without a word.
Finding ExpectedNodes(const Examination& seen);

/// Whether every shard has a leader that may act.
Finding Shards(const Examination& seen);

/// Whether some shard's leaders die again and again: the shard may be what kills them.
Finding Deaths(const Examination& seen);

Finding Balance(const Examination& seen);

/// How many series of shards a Prometheus gets.
Finding Series(const Examination& seen);

/// Whether damaged records are kept in etcd.
Finding QuarantinedRecords(const Examination& seen);

/// Whether the node fails to activate shards that it leads. Other nodes don't know that, so
/// batonctl asks them too.
Finding Activations(const NodeStatus& status);

}  // namespace baton::runtime
