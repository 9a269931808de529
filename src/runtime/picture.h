// What a view says of one shard, as pictures and routes show it. Pure; runs on the loop.
#pragma once

#include <functional>
#include <vector>

#include "core/core.h"
#include "core/division.h"
#include "runtime/control.h"
#include "runtime/history.h"

namespace baton::runtime {

/// By the view's facts alone: as a node sees the shards of others, and a relay all.
ShardStatus ShardOf(const core::View& view, ShardId shard);

/// As a node sees it, which knows more of its own shards than their records say.
ShardStatus ShardOf(const core::Core& core, ShardId shard, TimePoint now);

SessionPhase SessionPhaseOf(const core::Core& core, TimePoint now);

/// What a view tells of the gap before a leadership that others count.
GapPhases GapSeen(const Transition& transition);

/// The picture of the core's state, without what only the engine counts.
NodeStatus PictureOf(const core::Core& core, TimePoint now);

struct Looks {
  std::function<ShardStatus(ShardId)> shard;
  Duration settle{};  ///< before the division counts on a young group's members
  TimePoint now{};
  /// The division functions that the answering program can run.
  std::vector<core::DivisionFunction> divisions =
      std::vector<core::DivisionFunction>(1, core::kFirstDivision);
};
/// What the view says, for nodes and relays alike: revision, policies, shards, and members with
/// what they lead.
void AddView(const core::View& view, const Looks& looks, NodeStatus* status);

}  // namespace baton::runtime
