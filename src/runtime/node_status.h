// Builds NodeStatus and ShardStatus from a view or a core. For the loop alone. REQUIRES: the group
// has each shard that is asked for.
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

/// One shard by the view's facts alone. Nodes use it for other nodes' shards, relays for all
/// shards. Does not set `nobody_may_lead`, which StatusBoard adds, and `failing`.
ShardStatus ShardOf(const core::View& view, ShardId shard, TimePoint now);

/// One shard as a node sees it. Of a shard that it leads, the node knows a `state` that the view
/// does not show. Does not set `nobody_may_lead`, which StatusBoard adds, and `failing`, which
/// StatusOf adds.
ShardStatus ShardOf(const core::Core& core, ShardId shard, TimePoint now);

/// The first of these that is true: halted, ended, draining, live, suspended; otherwise opening.
SessionPhase SessionPhaseOf(const core::Core& core, TimePoint now);

/// A snapshot of the core's state, without the fields that the follower and the engine fill in.
/// REQUIRES: all calls for one `board` pass the same core.
NodeStatus StatusOf(const core::Core& core, TimePoint now, StatusBoard& board);

/// How AddView looks at the group.
struct Looks {
  std::function<ShardStatus(ShardId)> shard;  ///< renders a shard as of `now`
  Duration settle{};                          ///< see core::AssignmentFrom
  TimePoint now{};
};
/// Sets the fields of `status` that the view shows, for nodes and relays: time, revision, settings,
/// departed members, shards and their counts. Once the view is complete, also sets members and
/// assignment.
void AddView(const core::View& view, const Looks& looks, StatusBoard& board, NodeStatus* status);

}  // namespace baton::runtime
