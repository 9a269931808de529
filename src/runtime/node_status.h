// Builds NodeStatus and ShardStatus from a view or a core. For the loop alone. REQUIRES: each
// `shard` is a shard of the group.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "core/core.h"
#include "runtime/control.h"
#include "runtime/status_board.h"

namespace baton::runtime {

// Texts of NodeStatus::not_ready if no session opens because of the application.
inline constexpr std::string_view kNoApplication = "no application is attached";
inline constexpr std::string_view kApplicationSilent =
    "the application gives no sign of life (watchdog)";

/// Renders one shard from the view's facts alone. Nodes use this for other nodes' shards, relays
/// for all shards. Does not set `failing`. Leaves `nobody_may_lead` to StatusBoard.
ShardStatus ShardOf(const core::View& view, ShardId shard, TimePoint now);

/// Renders one shard as a node sees it. If the node leads the shard, `state` may be one that the
/// view does not show. Leaves `failing` to StatusOf, and `nobody_may_lead` to StatusBoard.
ShardStatus ShardOf(const core::Core& core, ShardId shard, TimePoint now);

/// Returns the first of these that is true: halted, ended, draining, live, suspended; else opening.
SessionPhase SessionPhaseOf(const core::Core& core, TimePoint now);

/// Returns a snapshot of the core's state, without the fields that the follower and the engine fill
/// in. REQUIRES: all calls with one `board` pass the same core.
NodeStatus StatusOf(const core::Core& core, TimePoint now, StatusBoard& board);

/// How AddView renders the group.
struct Looks {
  std::function<ShardStatus(ShardId)> shard;  ///< renders a shard as of `now`
  Duration settle{};                          ///< see core::AssignmentFrom
  TimePoint now{};
};
/// Sets the fields of `status` that a node and a relay take from the view: time, revision,
/// balancer, settings, departed members, shards and their counts. If the view is complete, also
/// sets members and assignment.
void AddView(const core::View& view, const Looks& looks, StatusBoard& board, NodeStatus* status);

}  // namespace baton::runtime
