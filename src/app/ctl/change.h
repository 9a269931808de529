// batonctl's verbs that change something. Each verb sends a request to the node at
// options.endpoint, prints the result or the error, and returns the exit code. Any verb may return
// the codes of Fail (output.h), and these:
//  - kDone: the change is made, or was not necessary, or a dry run found it possible.
//  - kPrecondition: another change came first, or etcd denies the write.
//  - kTimedOut, kInterrupted: the verb has stopped waiting. The change may still be made.
//
// The long verbs (transfer, retry, drain, apply) follow the operation to its end. With
// ChangeOptions::detach they return kDone as soon as the request is written. With these codes, a
// long verb has stopped waiting, but an operation whose request was written goes on:
//  - kTimedOut, or kPartly if a part of the operation is done: CtlOptions::timeout (unset:
//    kWorkTimeout) has passed.
//  - kTimedOut: the request got no answer within kCallTimeout, or the connection ended first.
//  - kInterrupted: Ctrl-C, SIGTERM or SIGPIPE came.
//  - kUnreachable: the request was not written, or all calls failed for a minute afterwards.
//
// Each call takes kCallTimeout at most. If CtlOptions::timeout is set, all calls of a verb together
// take no longer than this. SetNode makes one call. The long verbs make several. ReleaseShard makes
// two, which share one kCallTimeout. All other verbs make two.
//
// CancelRebalance, SetGroupSettings, SetPlacement, PauseBalance and ResumeBalance return
// kUnreachable if the node has not read the whole group yet.
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
/// Moves a shard to the node `to`. kNotFound: there is no such shard or node. kFailed: the move was
/// deleted or can't be carried out any more, and the leader keeps the shard. kPrecondition, in
/// these cases:
///  - Nobody leads the shard, `to` leads it already, or the shard is moving to another node.
///  - `to` drains, is unhealthy or not live, or a placement rule forbids it to lead the shard.
///  - The shard's term is not `if_term`.
///  - The move was ordered, but another node than `to` has got the shard.
ExitCode TransferShard(const CtlOptions& options, const TransferOptions& transfer,
                       const ChangeOptions& change);
/// Asks the node at options.endpoint to call Acquired again for a shard that fails to activate.
/// kNotFound: there is no such shard. kPrecondition: the node does not lead the shard, the shard
/// does not fail there or can't be tried now, or the shard's term has changed meanwhile. kFailed:
/// the shard failed again. kUnreachable, besides the cases above: the node has no live session, or
/// runs too many retries.
ExitCode RetryShard(const CtlOptions& options, ShardId shard, const ChangeOptions& change);
struct ReleaseOptions {
  ShardId shard;
  bool force = false;
  std::string confirm;  ///< "GROUP/SHARD"
};
/// Releases a shard that the failover settings keep for a dead leader. kNotFound: there is no such
/// shard. kPrecondition: the release is impossible; the message says why. kUsage: the release is
/// possible, but `force` is not set, or `confirm` is not right. Nothing was changed then, and the
/// message says what to type, and what the release would do. A dry run ignores `force` and
/// `confirm`.
ExitCode ReleaseShard(const CtlOptions& options, const ReleaseOptions& release,
                      const ChangeOptions& change);
/// Moves all shards off a node. kDone: the node leads nothing, or has left the group.
/// kPrecondition, or kPartly if some shards have moved: no other node can take any shard that is
/// left. If placement rules are the reason, the message names them. The node goes on leading these
/// shards. The drain stays ordered, and goes on when a node joins that may lead them.
///
/// A dry run orders no drain, and returns kPrecondition if any shard would stay. kNotFound: the
/// group has no such node. If the node joins while the verb runs, the verb may return kNotFound
/// although the drain was written.
ExitCode DrainNode(const CtlOptions& options, const NodeId& node, const ChangeOptions& change);
/// Ends the drain of a node, also if the node has left the group. kDone also if the node was not
/// drained. kNotFound: the group has neither this node nor a drain of it. kPrecondition: the
/// failover policy is `never`, and the node has no state directory and a weight above 0.
ExitCode UndrainNode(const CtlOptions& options, const NodeId& node, const ChangeOptions& change);
/// Changes weight and labels of `node`, which must be the node at options.endpoint. The node uses
/// the new settings at once. Other nodes may see them only after the verb has returned. The
/// settings hold until the node's process ends; the verb prints this. kDone also if the node has
/// these settings already. kPrecondition: another node answers at the endpoint; the message says
/// where to ask `node`. kNotFound: the group has no such node. kUsage: the settings make no sense
/// (SettingsAfter in base/node_change.h).
ExitCode SetNode(const CtlOptions& options, const NodeId& node, const NodeChange& change,
                 const ChangeOptions& how);
/// Carries out the moves of `rebalance plan`. If the plan has no moves, sends no request, and waits
/// only for the moves for balance that are in flight. A dry run does not wait; neither does a call
/// with ChangeOptions::detach. kDone: nothing is left to move. kFailed, or kPartly if some shards
/// have moved: the rebalance ended early, for example because somebody cancelled it.
ExitCode ApplyRebalance(const CtlOptions& options, const ChangeOptions& change);
/// Ends a rebalance that ApplyRebalance began. Moves that are prepared already are still carried
/// out. kDone also if no rebalance is under way.
ExitCode CancelRebalance(const CtlOptions& options, const ChangeOptions& change);
/// Changes settings of the group. kDone also if the group has these settings already. kUsage: the
/// settings are out of their bounds, or make no sense together with the group's other settings.
/// kPrecondition, in two cases:
///  - The version of some member is too old for the settings.
///  - The new policy is `never`, and a member that leads or may lead has no state directory.
ExitCode SetGroupSettings(const CtlOptions& options, const GroupSettings& settings,
                          const ChangeOptions& change);
/// Reads placement rules from a file ("-": stdin), and replaces the group's rules by them. If the
/// rules let no live node lead some shards, or too few nodes stand by for them, the verb prints a
/// warning, but sets the rules. kDone also if the group has these rules already. kUsage: the file
/// can't be read, or is not valid. kPrecondition: the version of some member is too old for rules;
/// or a dry run finds shards that no live node could lead. If Ctrl-C comes before the end of the
/// file, nothing is changed (kInterrupted).
ExitCode SetPlacement(const CtlOptions& options, const std::string& path,
                      const ChangeOptions& change);
/// Stops three kinds of moves: for balance, to nodes that placement rules prefer, and of failing
/// shards to other nodes. All other moves go on: failover, drains, transfers, an applied rebalance,
/// and moves away from leaders that a rule forbids. kDone also if balance is paused already.
ExitCode PauseBalance(const CtlOptions& options, const ChangeOptions& change);
ExitCode ResumeBalance(const CtlOptions& options, const ChangeOptions& change);

}  // namespace baton::app
