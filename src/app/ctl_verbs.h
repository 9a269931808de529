// The verbs of batonctl, each a function of its parsed arguments. They print, and answer an exit
// code.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/ctl.h"
#include "baton/types.h"

namespace baton::app {

ExitCode ShowStatus(const CtlOptions& options);
/// `wait`: asks until healthy or the time is up.
ExitCode CheckHealth(const CtlOptions& options, bool wait);
/// kFailed where anything is a problem.
ExitCode Examine(const CtlOptions& options);
ExitCode ListShards(const CtlOptions& options);
ExitCode DescribeShard(const CtlOptions& options, ShardId shard);
ExitCode LookUpKey(const CtlOptions& options, const std::string& key);
ExitCode ListNodes(const CtlOptions& options);
ExitCode ShowRebalancePlan(const CtlOptions& options);
ExitCode ShowRebalanceStatus(const CtlOptions& options);

/// What the node remembers; `shard` unset: of all.
ExitCode ShowHistory(const CtlOptions& options, std::optional<ShardId> shard);

struct EventsOptions {
  bool follow = false;                      ///< go on, until Ctrl-C or the time-out
  std::optional<std::uint64_t> after = {};  ///< unset: all that is kept, or from now on (follow)
  std::optional<ShardId> shard = {};
};
/// One line for each event.
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

/// `path` "-": stdin.
ExitCode PlanFile(const CtlOptions& options, const std::string& path);
ExitCode PrintVersion(const CtlOptions& options);

}  // namespace baton::app
