// batonctl's verbs that change something. Each sends a request to the node, prints the result or
// the error, and returns the exit code. kDone: the change is made, or was not necessary, or a dry
// run found it possible.
//
// The long verbs (transfer, retry, drain, apply) follow the operation to its end. With
// ChangeOptions::detach they return kDone as soon as the request is written. These codes mean that
// the verb has stopped waiting; an operation whose request was written goes on:
//   kTimedOut     CtlOptions::timeout (unset: kWorkTimeout) has passed. Or the request was not
//                 answered within kCallTimeout, or the connection ended before the answer. If a
//                 part of the operation is done, the code is kPartly
//   kInterrupted  Ctrl-C, SIGTERM or SIGPIPE has come
//   kUnreachable  the request was not written. Or it was written, and then all calls failed for a
//                 minute
//
// Each call of any verb ends after kCallTimeout at the latest, and all of a verb's calls together
// after CtlOptions::timeout, if it is set. SetNode makes one call. UndrainNode, CancelRebalance,
// SetGroupSettings, SetPlacement, PauseBalance and ResumeBalance make two, and the long verbs
// several. ReleaseShard makes two calls, which share one kCallTimeout. If any verb returns
// kTimedOut or kInterrupted, the change may still be made.
//
// CancelRebalance, SetGroupSettings, SetPlacement, PauseBalance and ResumeBalance return
// kUnreachable if the node's view is not complete yet.
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
/// Asks the node at options.endpoint to call the callback `acquired` again for a shard that fails
/// to activate. kNotFound: there is no such shard. kPrecondition: the node does not lead the shard,
/// the shard does not fail there or can't be tried now, or the shard's term has changed meanwhile.
/// kFailed: the shard failed again. kUnreachable: besides the general cases (see above), the node
/// has no live session, or runs too many retries.
ExitCode RetryShard(const CtlOptions& options, ShardId shard, const ChangeOptions& change);
struct ReleaseOptions {
  ShardId shard;
  bool force = false;
  std::string confirm;  ///< "GROUP/SHARD"
};
/// Releases a shard that the failover settings keep for a dead leader. kNotFound: there is no such
/// shard. kPrecondition: the release is impossible; the message says why. kUsage: the release is
/// possible, but `force` is not set or `confirm` is not right. With kUsage nothing was changed, and
/// the message says what to type, and what the release would do. A dry run needs neither `force`
/// nor `confirm`.
ExitCode ReleaseShard(const CtlOptions& options, const ReleaseOptions& release,
                      const ChangeOptions& change);
/// Moves all shards off a node. kDone: the node leads nothing, or has left the group. kPrecondition
/// (kPartly if some shards have moved): no other node can take any shards, or placement rules
/// forbid all other nodes for every shard that is left. The message then names the rules. The node
/// goes on leading these shards. The drain stays ordered, and goes on when a node joins that may
/// lead them.
/// A dry run orders no drain. It returns kPrecondition even if rules would keep only some of the
/// shards.
/// kNotFound: the group has no such node. If the node joins while the verb runs, the verb may
/// return kNotFound although the drain was written.
ExitCode DrainNode(const CtlOptions& options, const NodeId& node, const ChangeOptions& change);
/// Ends the drain of a node, also of one that has left the group. kDone also if the node was not
/// drained. kNotFound: the group has no such node, and no drain for it.
ExitCode UndrainNode(const CtlOptions& options, const NodeId& node, const ChangeOptions& change);
/// Changes weight and labels of `node`, which must be the node at options.endpoint. The node uses
/// the new settings at once. Other nodes see them when etcd has the node's new record, maybe after
/// the verb has returned. The settings hold until the node's process ends, and the verb prints
/// this, too. kDone also if the node has these settings already. kPrecondition: another node
/// answers at the endpoint; the message says where to ask `node`. kNotFound: the group has no such
/// node. kUsage: the settings make no sense (SettingsAfter).
ExitCode SetNode(const CtlOptions& options, const NodeId& node, const NodeChange& change,
                 const ChangeOptions& how);
/// Carries out the moves of `rebalance plan`. If the plan has no moves, sends no request. Moves for
/// balance may be in flight even then; the verb waits for their end, but not in a dry run and not
/// with ChangeOptions::detach. kDone: nothing is left to move. kFailed, or kPartly if some shards
/// have moved: the rebalance ended before that, for example because somebody cancelled it.
ExitCode ApplyRebalance(const CtlOptions& options, const ChangeOptions& change);
/// Ends an applied rebalance. Moves that are prepared already are still carried out. kDone also if
/// no rebalance is under way.
ExitCode CancelRebalance(const CtlOptions& options, const ChangeOptions& change);
/// kDone also if the group has these settings already. kUsage: the settings are out of their
/// bounds, or make no sense with those of the group. kPrecondition: some member's version is too
/// old for the settings; or the policy is `never`, and some member has no state directory.
ExitCode SetGroupSettings(const CtlOptions& options, const GroupSettings& settings,
                          const ChangeOptions& change);
/// Reads placement rules from a file ("-": stdin), and replaces the group's rules by them. The
/// rules may leave some shards without a live node that may lead them, or with too few nodes that
/// may stand by. The verb sets such rules, too, and then prints a warning. kDone also if the group
/// has these rules already. kUsage: the file can't be read, or is not valid. kPrecondition: a
/// member's version is too old to follow rules; or a dry run finds shards that no live node could
/// lead. If Ctrl-C comes before the end of the file, nothing is changed (kInterrupted).
ExitCode SetPlacement(const CtlOptions& options, const std::string& path,
                      const ChangeOptions& change);
/// Stops moves for balance, moves to nodes that placement rules prefer, and moves of failing shards
/// to other nodes. Failover, drains, transfers, an applied rebalance, and moves away from leaders
/// that a rule forbids go on. kDone also if balance is paused already.
ExitCode PauseBalance(const CtlOptions& options, const ChangeOptions& change);
ExitCode ResumeBalance(const CtlOptions& options, const ChangeOptions& change);

}  // namespace baton::app
