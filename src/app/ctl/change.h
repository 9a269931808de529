// batonctl's verbs that change something. Each writes a request and, if that takes long, follows it
// to its end.
#pragma once

#include <optional>
#include <string>

#include "app/ctl/ctl.h"
#include "app/ctl/group_settings.h"
#include "baton/types.h"

namespace baton::app {

struct TransferOptions {
  ShardId shard;
  NodeId to;
  std::optional<Term> if_term;
};
ExitCode TransferShard(const CtlOptions& options, const TransferOptions& transfer,
                       const ChangeOptions& change);
/// The node asked must lead the shard. Follows the attempt to its end.
ExitCode RetryShard(const CtlOptions& options, ShardId shard, const ChangeOptions& change);
struct ReleaseOptions {
  ShardId shard;
  bool force = false;
  std::string confirm;  ///< "GROUP/SHARD"
};
/// Without --force and the confirmation it only says what to type, and what that means; a dry run
/// needs neither.
ExitCode ReleaseShard(const CtlOptions& options, const ReleaseOptions& release,
                      const ChangeOptions& change);
ExitCode DrainNode(const CtlOptions& options, const NodeId& node, const ChangeOptions& change);
ExitCode UndrainNode(const CtlOptions& options, const NodeId& node, const ChangeOptions& change);
ExitCode ApplyRebalance(const CtlOptions& options, const ChangeOptions& change);
ExitCode CancelRebalance(const CtlOptions& options, const ChangeOptions& change);
ExitCode SetGroupSettings(const CtlOptions& options, const GroupSettings& settings,
                          const ChangeOptions& change);
ExitCode PauseBalance(const CtlOptions& options, const ChangeOptions& change);
ExitCode ResumeBalance(const CtlOptions& options, const ChangeOptions& change);

}  // namespace baton::app
