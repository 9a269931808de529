// batonctl's verbs that change something. Each sends a request to the node, prints the result or
// the error, and returns the exit code. kDone: the change is made, or a dry run found it possible.
//
// The long verbs (transfer, retry, drain, apply) follow the operation to its end. With
// ChangeOptions::detach they return kDone as soon as the request is written. These codes mean that
// the verb has stopped waiting; an operation whose request was written goes on:
//   kTimedOut     CtlOptions::timeout (unset: kWorkTimeout) has passed, or kCallTimeout before the
//                 request was answered. kPartly instead if a part is done
//   kInterrupted  Ctrl-C, SIGTERM or SIGPIPE has come
//   kUnreachable  the request was not written; or it was, and then all calls failed for a minute
//
// Each call of any verb ends after kCallTimeout at the latest, and all of a verb's calls together
// after CtlOptions::timeout, if it is set. Most verbs make one call.
// UndrainNode, CancelRebalance, SetGroupSettings, SetPlacement, PauseBalance and ResumeBalance make
// two, and the long verbs several. ReleaseShard makes two, which share one kCallTimeout. If any
// verb returns kTimedOut or kInterrupted, the change may still be made.
//
// Blocking; one thread.
#pragma once

#include <optional>
#include <string>

#include "app/ctl/ctl.h"
#include "app/ctl/group_settings.h"
#include "base/node_change.h"
#include "baton/types.h"

namespace baton::app {

struct TransferOptions {
  ShardId shard;
  NodeId to;
  std::optional<Term> if_term;
};
/// kNotFound: there is no such shard or node. kPrecondition, if no move was ordered: nobody leads
/// the shard, `to` leads it already, the shard is moving to another node, `to` drains or is not
/// live, a placement rule forbids `to`, the term is not `if_term`, or another change came first.
/// kPrecondition, if a move was ordered: another node than `to` has got the shard. kFailed: the
/// move was deleted or can't be carried out any more, and the leader keeps the shard.
ExitCode TransferShard(const CtlOptions& options, const TransferOptions& transfer,
                       const ChangeOptions& change);
/// Asks the node at options.endpoint to call `acquired` of a failing shard again. kNotFound: there
/// is no such shard. kPrecondition: the node does not lead the shard, the shard does not fail there
/// or can't be tried now, or the shard's term has changed meanwhile. kFailed: the shard failed
/// again. kUnreachable also if the node has no live session, or if too many retries run there.
ExitCode RetryShard(const CtlOptions& options, ShardId shard, const ChangeOptions& change);
struct ReleaseOptions {
  ShardId shard;
  bool force = false;
  std::string confirm;  ///< "GROUP/SHARD"
};
/// Releases a shard that the failover settings keep for a dead leader. kNotFound: there is no such
/// shard. kPrecondition: the release is impossible; the message says why. kUsage: the release is
/// possible, but `force` is not set or `confirm` is not right. Then nothing was changed, and the
/// message says what to type, and what that would do. A dry run needs neither `force` nor
/// `confirm`.
ExitCode ReleaseShard(const CtlOptions& options, const ReleaseOptions& release,
                      const ChangeOptions& change);
/// kDone: the node leads nothing, or has left the group. kPrecondition (kPartly if some shards have
/// moved): no other node can take any shards, or placement rules let no other node lead any of
/// those that are left; the message names the rules. The node goes on leading them, and the drain
/// (unless this is a dry run) goes on when another node joins. A dry run returns kPrecondition also
/// if rules would keep only some of the shards. kNotFound: the group has no such node. If the node
/// joins while the verb runs, the verb may return kNotFound although the drain was written.
ExitCode DrainNode(const CtlOptions& options, const NodeId& node, const ChangeOptions& change);
/// Ends the drain of a node, also of one that has left the group. kDone also if the node was not
/// drained. kNotFound: the group has no such node, and no drain for it.
ExitCode UndrainNode(const CtlOptions& options, const NodeId& node, const ChangeOptions& change);
/// Changes weight and labels of `node`, which must be the node at options.endpoint. The node takes
/// them at once; other nodes see them when etcd has the node's new record, maybe after the verb has
/// returned. They hold until the node's process ends; the verb says so, too. kDone also if the node
/// has these settings already.
/// kPrecondition: another node answers at the endpoint; the message says where to ask `node`.
/// kNotFound: the group has no such node. kUsage: the settings make no sense (SettingsAfter).
ExitCode SetNode(const CtlOptions& options, const NodeId& node, const NodeChange& change,
                 const ChangeOptions& how);
/// If there is nothing to move, sends no request and returns kDone. kFailed, or kPartly if some
/// shards have moved: the rebalance ended earlier, for example because somebody cancelled it.
ExitCode ApplyRebalance(const CtlOptions& options, const ChangeOptions& change);
/// Moves that are prepared already are still carried out. kDone also if no rebalance is under way.
ExitCode CancelRebalance(const CtlOptions& options, const ChangeOptions& change);
/// kDone also if the group has these settings already. kUsage: the settings are out of their
/// bounds, or make no sense with those of the group. kPrecondition: some member's version is too
/// old for them, or, for `never`, some member has no state directory.
ExitCode SetGroupSettings(const CtlOptions& options, const GroupSettings& settings,
                          const ChangeOptions& change);
/// Reads placement rules from a file ("-": stdin), and replaces the group's rules by them. If the
/// rules leave shards without a live node that may lead them, or with too few that may stand by,
/// the verb sets the rules all the same, and then prints a warning. kDone also if the group has
/// these rules already. kUsage: the file can't be read, or is not valid. kPrecondition: a member's
/// version is too old to follow rules; or a dry run finds that they let no live node lead some
/// shards. kUnreachable also if the node's view is not complete yet. If Ctrl-C comes before the end
/// of the file, nothing is changed (kInterrupted).
ExitCode SetPlacement(const CtlOptions& options, const std::string& path,
                      const ChangeOptions& change);
/// Stops moves for balance and for placement rules, and moves of failing shards to other nodes.
/// Failover, drains, transfers and an applied rebalance go on.
ExitCode PauseBalance(const CtlOptions& options, const ChangeOptions& change);
ExitCode ResumeBalance(const CtlOptions& options, const ChangeOptions& change);

}  // namespace baton::app
