// batonctl's verbs that change something. Each writes a request, prints what came of it or why it
// failed, and returns the exit code.
//
// The long ones (transfer, retry, drain, apply) follow the operation to its end, unless
// ChangeOptions::detach is set. They give up after CtlOptions::timeout, else kWorkTimeout:
// kTimedOut, or kPartly if a part is done. Then, and after Ctrl-C, the operation goes on in the
// group. The other verbs wait for one call, kCallTimeout at most. kTimedOut of any verb: the change
// may still be made.
//
// One thread.
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
/// The node asked must lead the shard, and the shard must be failing there (kPrecondition).
ExitCode RetryShard(const CtlOptions& options, ShardId shard, const ChangeOptions& change);
struct ReleaseOptions {
  ShardId shard;
  bool force = false;
  std::string confirm;  ///< "GROUP/SHARD"
};
/// Without --force and the confirmation it changes nothing: it says what to type, and what that
/// means, and returns kUsage. It does so only if the release would be possible; otherwise it
/// reports why not. A dry run needs neither.
ExitCode ReleaseShard(const CtlOptions& options, const ReleaseOptions& release,
                      const ChangeOptions& change);
/// kPrecondition or kPartly, if no other node can take the shards: the drain stands all the same.
ExitCode DrainNode(const CtlOptions& options, const NodeId& node, const ChangeOptions& change);
ExitCode UndrainNode(const CtlOptions& options, const NodeId& node, const ChangeOptions& change);
/// kDone without a request, if there is nothing to move.
ExitCode ApplyRebalance(const CtlOptions& options, const ChangeOptions& change);
/// Moves that are prepared already still end.
ExitCode CancelRebalance(const CtlOptions& options, const ChangeOptions& change);
ExitCode SetGroupSettings(const CtlOptions& options, const GroupSettings& settings,
                          const ChangeOptions& change);
ExitCode PauseBalance(const CtlOptions& options, const ChangeOptions& change);
ExitCode ResumeBalance(const CtlOptions& options, const ChangeOptions& change);

}  // namespace baton::app
