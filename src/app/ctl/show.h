// batonctl's verbs that only read. Each asks the node at options.endpoint, prints the answer, and
// returns kDone or the error's code (Fail, output.h). Blocking; one thread.
#pragma once

#include <string>

#include "app/ctl/ctl.h"
#include "baton/types.h"
#include "runtime/control.h"

namespace baton::app {

/// Shows the status of the group. In the table formats, also asks the other live nodes (others.h)
/// which shards fail to activate or are still stopping on them, and says which nodes did not
/// answer. kDone also if the group is unhealthy.
ExitCode ShowStatus(const CtlOptions& options);
/// Shows the name under which the node knows this user, and the user's role.
ExitCode ShowIdentity(const CtlOptions& options);
/// kFailed: the node or the group is unhealthy (Unhealthy, tables.h). With `wait`, asks again 500
/// ms after each answer, until both are healthy (kDone), until CtlOptions::timeout has passed
/// (kTimedOut; unset: kWorkTimeout), or until Ctrl-C (kInterrupted). No error of a call ends this
/// wait, not even a file that can't be used.
ExitCode CheckHealth(const CtlOptions& options, bool wait);
ExitCode ListShards(const CtlOptions& options);
/// Shows one shard. Also asks the shard's leader, because only the leader knows whether the shard
/// fails to activate. If the leader does not answer, shows what the first node knows. kNotFound:
/// there is no such shard.
ExitCode DescribeShard(const CtlOptions& options, ShardId shard);
/// Shows the shard of a key, and who leads it. kUsage: ShardOfKey (routing/lookup_key.h) refuses
/// the key. kUnreachable: the node can't be asked, has not read the group yet, or has halted.
ExitCode LookUpKey(const CtlOptions& options, const std::string& key);
/// If NodeStatus::stale is set, prints a message that the answer may be out of date. The part about
/// the answering node itself is right even then.
void SayAsOf(const runtime::NodeStatus& status);
ExitCode ListNodes(const CtlOptions& options);
ExitCode ShowGroup(const CtlOptions& options);
/// Shows the moves that `rebalance apply` would carry out. kDone also if there are none.
ExitCode ShowRebalancePlan(const CtlOptions& options);
ExitCode ShowRebalanceStatus(const CtlOptions& options);
/// Prints batonctl's own version; asks no node.
ExitCode PrintVersion(const CtlOptions& options);

}  // namespace baton::app
