// Asks other nodes of a group what the first node does not know. Only a shard's leader knows
// whether the shard fails to activate. Only nodes that ran at that time know who left the group.
//
// Blocking; any thread. Errors are not reported. A node that gives no valid answer counts as
// silent, and so does a node that does not know this user yet. The token of --token-file is not
// sent.
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
  std::vector<runtime::NodeStatus> answered;  ///< see OwnWordsIn; in the members' order
  /// Nodes that were not asked, because they come after the first kMaxAsked, and then nodes that
  /// gave no valid answer in time.
  std::vector<NodeId> silent;
};

/// Asks the live members of `status`, except the node that gave `status`, on one thread each. Waits
/// for their answers until the deadline, but at most for kOthersPatience. Members without an
/// address that can be used (IsPeerEndpoint) serve no operators, and are in neither list. Throws
/// std::system_error if the host lacks threads.
OthersAnswers AskOthers(const runtime::NodeStatus& status, const ClientTls& tls,
                        TimePoint deadline);

/// Adds to `status.departed` the nodes that `others` saw leave the group. Reason: a node knows only
/// of nodes that left after its own start. If several ends of one node are known, keeps one of
/// them: an end with a known reason before one without, and the latest of equal ones.
/// DepartedMember::back becomes true if the node is a live member in `status`, or if anybody saw
/// the node return after this end. Sorts by age, the newest first, and keeps the first
/// Departures::kMaxKept.
void AddDepartures(const std::vector<runtime::NodeStatus>& others, runtime::NodeStatus* status);

/// Asks the leader of `shard` what it knows of the shard. `group` and `shard` are earlier answers
/// of one node. Waits for the answer until the deadline, but at most for kOthersPatience. Returns
/// nullopt if nobody leads the shard, if the node that gave `group` leads it itself, or if the
/// leader is not a live member, has no address that can be used, gives no valid answer in time, or
/// no longer leads in the term of `shard`.
std::optional<runtime::ShardStatus> AskLeader(const runtime::NodeStatus& group,
                                              const runtime::ShardStatus& shard,
                                              const ClientTls& tls, TimePoint deadline);

}  // namespace baton::app
