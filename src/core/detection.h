// Detection: a bound for the time between the death of a shard's leader and this node's notice of
// it.
//
// Pure function of what this node has seen. Callable only from the core's thread.
#pragma once

#include <optional>

#include "core/context.h"

namespace baton::core {

/// A bound for Transition::detect_at_most. Set only if all of these hold: the earlier leader died;
/// this node's watch showed the end of that leader's session; this end left the shard without a
/// leader; the confirmations of this node's own lease prove a bound (confirmation_log.h). REQUIRES:
/// the transition was read from the view in this step, and transition.elect is View::LastGap of its
/// shard.
std::optional<Duration> DetectAtMost(const Context& context, const Transition& transition);

}  // namespace baton::core
