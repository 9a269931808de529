// batonctl's verbs that change something. Each sends a request to the node, prints the result or
// the error, and returns the exit code. kDone: the change is made, or a dry run found it possible.
//
// The long verbs (transfer, retry, drain, apply) follow the operation to its end. With
// ChangeOptions::detach they return kDone after the request is written. In these cases they stop
// waiting, and the operation goes on in the group:
//   kTimedOut     CtlOptions::timeout (unset: kWorkTimeout) has passed; kPartly if a part is done
//   kInterrupted  somebody pressed Ctrl-C
//   kUnreachable  the node has not answered for a minute
//
// The other verbs wait for CtlOptions::timeout or for kCallTimeout, whichever is shorter. A long
// verb makes several calls until its request is written, and waits that long for each of them. So
// do UndrainNode, CancelRebalance and SetPlacement, which make two. If any verb returns kTimedOut
// or kInterrupted, the change may still be made.
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
/// move was deleted, and the leader keeps the shard.
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
/// Releases a shard that the failover settings keep for a dead leader. If the release is
/// impossible, says why, and returns the code for that. Otherwise, without `force` and the right
/// `confirm`, the verb changes nothing and returns kUsage: it says what to type, and what that
/// would do. A dry run needs neither `force` nor `confirm`.
ExitCode ReleaseShard(const CtlOptions& options, const ReleaseOptions& release,
                      const ChangeOptions& change);
/// kPrecondition (kPartly if some shards have moved): no other node can take the shards. The node
/// goes on leading them, and the drain goes on when another node joins. kNotFound: the group has no
/// such node; if it joined meanwhile, the drain may have been written.
ExitCode DrainNode(const CtlOptions& options, const NodeId& node, const ChangeOptions& change);
/// kDone also if the node was not drained, or is away. kNotFound: the group has no such node, and
/// no drain of one.
ExitCode UndrainNode(const CtlOptions& options, const NodeId& node, const ChangeOptions& change);
/// Changes weight and labels of the node at options.endpoint, until its process ends; says so.
/// kDone also if the node has these settings already. kPrecondition: another node answers at the
/// endpoint; the message says where to ask `node`. kNotFound: the group has no such node. kUsage:
/// the settings make no sense (SettingsAfter).
ExitCode SetNode(const CtlOptions& options, const NodeId& node, const NodeChange& change,
                 const ChangeOptions& how);
/// If there is nothing to move, sends no request and returns kDone.
ExitCode ApplyRebalance(const CtlOptions& options, const ChangeOptions& change);
/// Moves that are prepared already are still carried out.
ExitCode CancelRebalance(const CtlOptions& options, const ChangeOptions& change);
ExitCode SetGroupSettings(const CtlOptions& options, const GroupSettings& settings,
                          const ChangeOptions& change);
/// Reads placement rules from a file ("-": stdin), and replaces the group's rules by them. If the
/// new rules let no live node lead some shards, says so first, and sets them all the same. kUsage:
/// the file is not valid. kPrecondition: a member's version is too old to follow rules.
/// kInterrupted before the file is read to its end: nothing was changed.
ExitCode SetPlacement(const CtlOptions& options, const std::string& path,
                      const ChangeOptions& change);
/// Stops moves for balance and for placement rules, and moves of failing shards to other nodes.
/// Failover, drains, transfers and an applied rebalance go on.
ExitCode PauseBalance(const CtlOptions& options, const ChangeOptions& change);
ExitCode ResumeBalance(const CtlOptions& options, const ChangeOptions& change);

}  // namespace baton::app
