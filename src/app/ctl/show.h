// batonctl's verbs that only read. Each verb asks the node at options.endpoint, prints the answer,
// and returns kDone or the error's exit code (Fail in output.h). Blocking; one thread.
#pragma once

#include <string>

#include "app/ctl/ctl.h"
#include "baton/types.h"
#include "runtime/control.h"

namespace baton::app {

/// Shows the status of the group. kDone also if the group is unhealthy. In the table formats, also
/// asks the other live nodes (others.h) which of their shards fail to activate or are still
/// stopping, and says which nodes did not answer.
ExitCode ShowStatus(const CtlOptions& options);
/// Shows the name under which the node knows this user, and the user's role.
ExitCode ShowIdentity(const CtlOptions& options);
/// Says whether the node and the group are healthy (Unhealthy in tables.h). kFailed: they are not.
/// With `wait`, asks again 500 ms after each answer, until they are healthy (kDone),
/// CtlOptions::timeout (unset: kWorkTimeout) has passed (kTimedOut), or Ctrl-C comes
/// (kInterrupted). No error of a call ends the wait, not even a file that can't be used.
ExitCode CheckHealth(const CtlOptions& options, bool wait);
ExitCode ListShards(const CtlOptions& options);
/// Shows one shard. Also asks the shard's leader, because only the leader knows whether the shard
/// fails to activate. If the leader does not answer, shows only the first node's answer. kNotFound:
/// there is no such shard.
ExitCode DescribeShard(const CtlOptions& options, ShardId shard);
/// Shows the shard of a key, and who leads it. kUsage: ShardOfKey (routing/lookup_key.h) refuses
/// the key. kUnreachable: the node can't be asked, has not read the group yet, or has halted.
ExitCode LookUpKey(const CtlOptions& options, const std::string& key);
/// If NodeStatus::stale is set, prints a message that the answer about other nodes may be out of
/// date. The answer about the answering node itself is right even then.
void SayAsOf(const runtime::NodeStatus& status);
ExitCode ListNodes(const CtlOptions& options);
ExitCode ShowGroup(const CtlOptions& options);
/// Shows the moves that `rebalance apply` would carry out, and planned moves off draining nodes.
/// kDone also if there is no move.
ExitCode ShowRebalancePlan(const CtlOptions& options);
ExitCode ShowRebalanceStatus(const CtlOptions& options);
/// Prints batonctl's own version; asks no node.
ExitCode PrintVersion(const CtlOptions& options);

}  // namespace baton::app
