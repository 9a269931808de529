// Builds NodeStatus and ShardStatus from a view or a core. Called on the loop.
#pragma once

#include <functional>
#include <vector>

#include "core/core.h"
#include "runtime/control.h"
#include "runtime/status_board.h"

namespace baton::runtime {

/// One shard by the view's facts alone. Nodes use it for other nodes' shards, relays for all.
ShardStatus ShardOf(const core::View& view, ShardId shard, TimePoint now);

/// One shard as a node sees it: it knows more about its own shards than the view.
ShardStatus ShardOf(const core::Core& core, ShardId shard, TimePoint now);

/// The first of these that holds: halted, ended, draining, live, suspended; otherwise opening.
SessionPhase SessionPhaseOf(const core::Core& core, TimePoint now);

/// A snapshot of the core's state, without the fields that the follower and the engine fill in.
NodeStatus StatusOf(const core::Core& core, TimePoint now, StatusBoard& board);

struct Looks {
  std::function<ShardStatus(ShardId)> shard;  ///< renders a shard as of `now`
  Duration settle{};                          ///< see AssignmentFrom
  TimePoint now{};
};
/// Adds what the view shows: revision, policies, shards, and members with their shards. Nodes and
/// relays use it.
void AddView(const core::View& view, const Looks& looks, StatusBoard& board, NodeStatus* status);

}  // namespace baton::runtime
