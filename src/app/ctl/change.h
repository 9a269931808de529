// batonctl's verbs that change something. Each sends a request to the node, prints the result or
// the error, and returns the exit code. kDone: the change is made, or a dry run found it possible.
//
// The long verbs (transfer, retry, drain, apply) follow the operation to its end. With
// ChangeOptions::detach they return kDone after the request is written. They stop waiting after
// CtlOptions::timeout (unset: kWorkTimeout) with kTimedOut, or kPartly if a part is done, and after
// Ctrl-C with kInterrupted. The operation goes on in the group in all these cases.
//
// The other verbs wait at most for CtlOptions::timeout and for kCallTimeout. If any verb returns
// kTimedOut or kInterrupted, the change may still be made.
//
// Blocking; one thread.
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
/// Calls `acquired` of a failing shard again. kPrecondition: the node at options.endpoint does not
/// lead the shard, or the shard is not failing there, or its term has changed meanwhile. kFailed:
/// the shard failed again.
ExitCode RetryShard(const CtlOptions& options, ShardId shard, const ChangeOptions& change);
struct ReleaseOptions {
  ShardId shard;
  bool force = false;
  std::string confirm;  ///< "GROUP/SHARD"
};
/// Releases a shard that the failover settings keep for a dead leader. Without `force` and the
/// right `confirm`, the verb changes nothing: it says what to type and what this would do, and
/// returns kUsage; if the release is impossible, it reports why. A dry run needs neither of them.
ExitCode ReleaseShard(const CtlOptions& options, const ReleaseOptions& release,
                      const ChangeOptions& change);
/// kPrecondition (or kPartly if some shards have moved): no other node can take the shards. The
/// node goes on leading them, and the drain goes on when a node joins.
ExitCode DrainNode(const CtlOptions& options, const NodeId& node, const ChangeOptions& change);
ExitCode UndrainNode(const CtlOptions& options, const NodeId& node, const ChangeOptions& change);
/// If there is nothing to move, sends no request and returns kDone.
ExitCode ApplyRebalance(const CtlOptions& options, const ChangeOptions& change);
/// Moves that are prepared already are still carried out.
ExitCode CancelRebalance(const CtlOptions& options, const ChangeOptions& change);
ExitCode SetGroupSettings(const CtlOptions& options, const GroupSettings& settings,
                          const ChangeOptions& change);
ExitCode PauseBalance(const CtlOptions& options, const ChangeOptions& change);
ExitCode ResumeBalance(const CtlOptions& options, const ChangeOptions& change);

}  // namespace baton::app
