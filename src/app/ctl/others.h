// Asks the other nodes of a group for what only a shard's leader knows.
//
// Blocking: one call to each node, all at once, on threads of their own.
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
/// How long one command waits for them at most. They may be out of its reach.
inline constexpr std::chrono::milliseconds kOthersPatience{700};

struct OthersAnswers {
  std::vector<runtime::NodeStatus> answered;  ///< without shards, in the members' order
  std::vector<NodeId> silent;                 ///< live nodes that could not be asked
};

/// Asks all live members but the one that gave `status`, until kOthersPatience or the deadline.
/// Nodes without an address are left out: they serve no operators.
OthersAnswers AskOthers(const runtime::NodeStatus& status, const ClientTls& tls,
                        TimePoint deadline);

/// Asks the shard's leader for the shard, if another node than it gave `shard`. Unset: the leader
/// need not or could not be asked, or leads no more.
std::optional<runtime::ShardStatus> AskLeader(const runtime::NodeStatus& group,
                                              const runtime::ShardStatus& shard,
                                              const ClientTls& tls, TimePoint deadline);

}  // namespace baton::app
