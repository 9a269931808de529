// Detection: how long the death of a shard's leader went unnoticed.
//
// If a guard waited for the end of the leader's process, the guard has measured this time. If the
// leader's lease had to run out, there is only an upper bound. If the node's next process proved
// the death, nobody knows the time.
//
// Pure functions of what this node has seen. Callable only from the core's thread, or a relay's.
#pragma once

#include <optional>

#include "core/context.h"

namespace baton::core {

/// For Transition::detect. Set only if all of these hold:
///  - The earlier leader's process was proven dead.
///  - The watch showed the end of that leader's session, and how long its guard had known of the
///    death.
///  - This end left the shard without a leader.
///
/// REQUIRES: something was merged into the view at `now`, and the transition was read from the view
/// right afterwards; transition.elect is what View::LastGap then said of the shard.
std::optional<Duration> Detect(const View& view, const Transition& transition, TimePoint now);

/// For Transition::detect_at_most. Set only if all of these hold:
///  - The earlier leader's lease ended without a proof of its death.
///  - This node's watch showed the end of that leader's session.
///  - This end left the shard without a leader.
///  - The confirmations of this node's own lease prove a bound (confirmation_log.h).
///
/// REQUIRES: as for Detect, with the context's view and time.
std::optional<Duration> DetectAtMost(const Context& context, const Transition& transition);

/// Sets both. REQUIRES: as for DetectAtMost.
void AddDetection(const Context& context, Transition& transition);

}  // namespace baton::core
