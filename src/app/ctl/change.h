// batonctl's verbs that change something. Each writes a request and, if that takes long, follows it
// to its end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/ctl/ctl.h"
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
ExitCode DrainNode(const CtlOptions& options, const NodeId& node, const ChangeOptions& change);
ExitCode UndrainNode(const CtlOptions& options, const NodeId& node, const ChangeOptions& change);
ExitCode ApplyRebalance(const CtlOptions& options, const ChangeOptions& change);
ExitCode CancelRebalance(const CtlOptions& options, const ChangeOptions& change);
/// Sets `setting` ("expected-nodes" or "max-moves") to `number`; 0 clears it.
ExitCode SetGroupSetting(const CtlOptions& options, const std::string& setting,
                         std::uint32_t number, const ChangeOptions& change);
ExitCode PauseBalance(const CtlOptions& options, const ChangeOptions& change);
ExitCode ResumeBalance(const CtlOptions& options, const ChangeOptions& change);

}  // namespace baton::app
