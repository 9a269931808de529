// Detection: how long ago, at most, a shard's leader died before this node knew.
//
// Pure function of what this node has seen. Callable only from the core's thread.
#pragma once

#include <optional>

#include "core/context.h"

namespace baton::core {

/// A bound for Transition::detect_at_most. Unset unless all of these hold: the earlier leader died;
/// this node's watch showed the end of its session; this end left the shard without a leader; this
/// node's own confirmations prove a bound. REQUIRES: the view has shown the transition in this
/// step, and its `elect` is set.
std::optional<Duration> DetectAtMost(const Context& context, const Transition& transition);

}  // namespace baton::core
