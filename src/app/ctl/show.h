// batonctl's verbs that only read a node's status.
#pragma once

#include <string>

#include "app/ctl/ctl.h"
#include "baton/types.h"

namespace baton::app {

ExitCode ShowStatus(const CtlOptions& options);
/// Who this user is in the node's eyes, and what this user may do.
ExitCode ShowIdentity(const CtlOptions& options);
/// kFailed if it is not healthy. `wait`: asks again until the group is healthy, or until
/// CtlOptions::timeout, else kWorkTimeout, is over (kTimedOut).
ExitCode CheckHealth(const CtlOptions& options, bool wait);
ExitCode ListShards(const CtlOptions& options);
ExitCode DescribeShard(const CtlOptions& options, ShardId shard);
ExitCode LookUpKey(const CtlOptions& options, const std::string& key);
ExitCode ListNodes(const CtlOptions& options);
ExitCode ShowGroup(const CtlOptions& options);
ExitCode ShowRebalancePlan(const CtlOptions& options);
ExitCode ShowRebalanceStatus(const CtlOptions& options);
ExitCode PrintVersion(const CtlOptions& options);

}  // namespace baton::app
