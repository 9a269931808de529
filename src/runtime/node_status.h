// Builds NodeStatus and routes from a view or a core. Pure functions; called on the loop.
#pragma once

#include <functional>
#include <vector>

#include "core/core.h"
#include "runtime/control.h"
#include "runtime/status_board.h"

namespace baton::runtime {

/// One shard by the view's facts alone. Nodes use it for other nodes' shards, relays for all.
ShardStatus ShardOf(const core::View& view, ShardId shard, TimePoint now);

/// The same, but this node adds what only it knows about its own shards.
ShardStatus ShardOf(const core::Core& core, ShardId shard, TimePoint now);

SessionPhase SessionPhaseOf(const core::Core& core, TimePoint now);

/// A snapshot of the core's state, without what the follower and the engine add.
NodeStatus StatusOf(const core::Core& core, TimePoint now, StatusBoard& board);

struct Looks {
  std::function<ShardStatus(ShardId)> shard;
  Duration settle{};  ///< how long the assignment waits for members of a young group
  TimePoint now{};
};
/// Adds what the view says: revision, policies, shards, and members with their shards. Nodes and
/// relays use it.
void AddView(const core::View& view, const Looks& looks, StatusBoard& board, NodeStatus* status);

}  // namespace baton::runtime
