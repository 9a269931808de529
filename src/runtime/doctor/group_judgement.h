// Derives findings about the group's nodes and shards. Pure functions; judgement.h lists them all.
#pragma once

#include "runtime/control.h"
#include "runtime/doctor/finding.h"
#include "runtime/doctor/judgement.h"

namespace baton::runtime {

/// Whether somebody may lead: not all live nodes are drained or have weight 0.
Finding Candidates(const Examination& seen);

/// Whether damaged records are kept in etcd.
Finding QuarantinedRecords(const Examination& seen);

/// Whether the node fails to activate shards that it leads. Other nodes don't know that, so
/// batonctl asks them too.
Finding Activations(const NodeStatus& status);

}  // namespace baton::runtime
