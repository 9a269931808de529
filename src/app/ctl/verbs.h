// The verbs of batonctl. Each is a function of its parsed arguments, prints its output and returns
// an exit code.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/ctl/ctl.h"
#include "baton/types.h"

namespace baton::app {

ExitCode ShowStatus(const CtlOptions& options);
/// `wait`: asks again until the group is healthy or the time is up.
ExitCode CheckHealth(const CtlOptions& options, bool wait);
/// kFailed if a finding is a problem.
ExitCode Examine(const CtlOptions& options);
ExitCode ListShards(const CtlOptions& options);
ExitCode DescribeShard(const CtlOptions& options, ShardId shard);
ExitCode LookUpKey(const CtlOptions& options, const std::string& key);
ExitCode ListNodes(const CtlOptions& options);
ExitCode ShowRebalancePlan(const CtlOptions& options);
ExitCode ShowRebalanceStatus(const CtlOptions& options);

/// Shows the transitions that the node keeps, of one shard or of all.
ExitCode ShowHistory(const CtlOptions& options, std::optional<ShardId> shard);

struct EventsOptions {
  bool follow = false;                      ///< go on until Ctrl-C or the timeout
  std::optional<std::uint64_t> after = {};  ///< unset: all that are kept; with follow: new ones
  std::optional<ShardId> shard = {};
};
/// Prints one line for each event.
ExitCode ShowEvents(const CtlOptions& options, const EventsOptions& events);

struct TransferOptions {
  ShardId shard;
  NodeId to;
  std::optional<Term> if_term;
};
ExitCode TransferShard(const CtlOptions& options, const TransferOptions& transfer,
                       const ChangeOptions& change);
ExitCode DrainNode(const CtlOptions& options, const NodeId& node, const ChangeOptions& change);
ExitCode UndrainNode(const CtlOptions& options, const NodeId& node, const ChangeOptions& change);
ExitCode ApplyRebalance(const CtlOptions& options, const ChangeOptions& change);
ExitCode CancelRebalance(const CtlOptions& options, const ChangeOptions& change);
ExitCode PauseBalance(const CtlOptions& options, const ChangeOptions& change);
ExitCode ResumeBalance(const CtlOptions& options, const ChangeOptions& change);

/// Reads the state from a file, or from stdin if `path` is "-".
ExitCode PlanFile(const CtlOptions& options, const std::string& path);
ExitCode PrintVersion(const CtlOptions& options);

}  // namespace baton::app
