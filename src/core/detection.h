// Detection: how long ago, at most, a shard's leader died before this node knew.
//
// Pure function of what this node has seen.
#pragma once

#include <optional>

#include "core/context.h"

namespace baton::core {

/// A bound for Transition::detect_at_most. Unset unless the leader before died, this node saw its
/// session end by its watch, that end is what left the shard without a leader, and this node's own
/// confirmations prove a bound. REQUIRES: the view has just shown the transition, and its `elect`
/// is set.
std::optional<Duration> DetectAtMost(const Context& context, const Transition& transition);

}  // namespace baton::core
