// batonctl's verbs that only read. Each asks the node at options.endpoint, prints the answer, and
// returns kDone or the error's code (Fail, output.h). Blocking; one thread.
#pragma once

#include <string>

#include "app/ctl/ctl.h"
#include "baton/types.h"
#include "runtime/control.h"

namespace baton::app {

/// In the table formats, also asks the other live nodes (others.h) which shards fail to activate or
/// are still stopping there, and says which nodes did not answer. kDone also if the group is
/// unhealthy.
ExitCode ShowStatus(const CtlOptions& options);
/// Shows as whom the node knows this user, and which role this user has.
ExitCode ShowIdentity(const CtlOptions& options);
/// kFailed: the node or the group is unhealthy (Unhealthy, tables.h). With `wait`, asks twice a
/// second until both are healthy (kDone), until CtlOptions::timeout has passed (kTimedOut; unset:
/// kWorkTimeout), or until Ctrl-C (kInterrupted). Errors don't end such a wait.
ExitCode CheckHealth(const CtlOptions& options, bool wait);
ExitCode ListShards(const CtlOptions& options);
/// Also asks the shard's leader, which alone knows whether the shard fails to activate. kNotFound:
/// there is no such shard.
ExitCode DescribeShard(const CtlOptions& options, ShardId shard);
/// Shows the shard of a key, and who leads it. kUsage: ShardOfKey (routing/lookup_key.h) refuses
/// the key. kUnreachable also if the node has not read the group yet, or has halted.
ExitCode LookUpKey(const CtlOptions& options, const std::string& key);
/// Says so if the answer may be out of date. The part about the answering node is right even then.
void SayAsOf(const runtime::NodeStatus& status);
ExitCode ListNodes(const CtlOptions& options);
ExitCode ShowGroup(const CtlOptions& options);
/// Shows the moves that `rebalance apply` would carry out. kDone also if there are none.
ExitCode ShowRebalancePlan(const CtlOptions& options);
ExitCode ShowRebalanceStatus(const CtlOptions& options);
/// Prints batonctl's own version; asks no node.
ExitCode PrintVersion(const CtlOptions& options);

}  // namespace baton::app
