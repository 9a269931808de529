// Asks other nodes of a group. Only a shard's leader knows whether the shard fails to activate, and
// only nodes that were there know who left.
//
// Blocking; any thread. Errors are not reported: a node that gives no valid answer counts as
// silent, also one that does not know this user yet. The token of --token-file is not sent.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "app/ctl/ctl.h"
#include "base/clock.h"
#include "baton/types.h"
#include "runtime/control.h"

namespace baton::app {

/// The most nodes that one command asks.
inline constexpr std::size_t kMaxAsked = 128;
/// How long one command waits for other nodes, which may be out of reach.
inline constexpr std::chrono::milliseconds kOthersPatience{700};

struct OthersAnswers {
  std::vector<runtime::NodeStatus> answered;  ///< as of OwnWordsIn, in the members' order
  /// Nodes that gave no valid answer in time, and those beyond the first kMaxAsked.
  std::vector<NodeId> silent;
};

/// Asks the live members of `status`, except the node that gave `status`, on one thread each. Waits
/// for their answers until the deadline, but at most for kOthersPatience. Members without an
/// address that can be used (IsPeerEndpoint) are in neither list; they serve no operators. Throws
/// std::system_error if the host lacks threads.
OthersAnswers AskOthers(const runtime::NodeStatus& status, const ClientTls& tls,
                        TimePoint deadline);

/// Adds to `status` who left the group as the others saw it: a node knows only of those that left
/// since its own start. Keeps one end of each node: one with a known reason if there is any, and of
/// several alike the latest. The node is back if it is a live member in `status`, or if
/// anybody saw it return after that end. Keeps the newest Departures::kMaxKept.
void AddDepartures(const std::vector<runtime::NodeStatus>& others, runtime::NodeStatus* status);

/// Asks the leader of `shard` what it knows of the shard. `group` and `shard` are earlier answers
/// of the same node. Waits as long as AskOthers. Returns nullopt if nobody leads the shard, if the
/// node that gave `group` leads it itself, or if the leader is not a live member, has no address
/// that can be used, gives no valid answer in time, or no longer leads in the term of `shard`.
std::optional<runtime::ShardStatus> AskLeader(const runtime::NodeStatus& group,
                                              const runtime::ShardStatus& shard,
                                              const ClientTls& tls, TimePoint deadline);

}  // namespace baton::app
