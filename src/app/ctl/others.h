// Asks other nodes of a group for facts that the first node may not know. Only a shard's leader
// knows whether the shard fails to activate. A node that started later does not know who left the
// group before.
//
// Blocking; any thread. Errors are not reported. A node counts as silent if it gives no valid
// answer, or does not know this user yet. The token of --token-file is not sent.
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
  std::vector<runtime::NodeStatus>
      answered;  ///< see OwnWordsIn (status_check.h); in the members' order
  /// First the nodes that were not asked, because they come after the first kMaxAsked. Then the
  /// nodes that gave no valid answer in time.
  std::vector<NodeId> silent;
};

/// Asks the first kMaxAsked live members of `status`, with one thread for each. Does not ask the
/// node that gave `status`. Waits until the deadline, but at most for kOthersPatience. Members
/// without a usable address (IsPeerEndpoint in base/endpoint.h) are not asked, and are in neither
/// list. Throws std::system_error if the host lacks threads.
OthersAnswers AskOthers(const runtime::NodeStatus& status, const ClientTls& tls,
                        TimePoint deadline);

/// Adds to `status.departed` the nodes that `others` saw leave the group. If a node left several
/// times, keeps the latest departure with a known reason; if there is no such departure, keeps the
/// latest one. DepartedMember::back becomes true if the node is a live member in `status`, or if
/// anybody saw it return after this departure. Sorts by age, the newest first, and keeps at most
/// core::Departures::kMaxKept.
void AddDepartures(const std::vector<runtime::NodeStatus>& others, runtime::NodeStatus* status);

/// Asks the leader of `shard` what it knows of the shard. `group` and `shard` are earlier answers
/// of one node. Waits for the answer until the deadline, but at most for kOthersPatience. Returns
/// nullopt in these cases:
///  - Nobody leads the shard, or the node that gave `group` leads it.
///  - The leader is not a live member, or has no usable address.
///  - The leader gives no valid answer in time, or no longer leads in the term of `shard`.
std::optional<runtime::ShardStatus> AskLeader(const runtime::NodeStatus& group,
                                              const runtime::ShardStatus& shard,
                                              const ClientTls& tls, TimePoint deadline);

}  // namespace baton::app
