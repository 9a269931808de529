// Detection: how long the death of a shard's leader went unnoticed.
//
// If a guard (src/runtime/guard) waited for the end of the leader's process, the guard has measured
// this time. If the leader's lease had to run out, only an upper bound is known. If the node's next
// process proved the death, nobody knows the time.
//
// Pure functions of what this node has seen. Call them on the thread that owns the view: the
// core's, or a relay's.
#pragma once

#include <optional>

#include "core/context.h"

namespace baton::core {

/// Returns Transition::detect. The result is set only if all of these hold:
///  - The transition's reason is kProcessDied: the earlier leader's process was proven dead.
///  - The watch showed the end of that leader's session, and how long that leader's guard had known
///    of the death.
///  - This end left the shard without a leader.
///
/// REQUIRES (not checked): the view merged facts at `now`. The transition was read from the view
/// right after that, with View::LastGap as transition.elect.
std::optional<Duration> Detect(const View& view, const Transition& transition, TimePoint now);

/// Returns Transition::detect_at_most. The result is set only if all of these hold:
///  - The transition's reason is kLeaseExpired: the lease ended without a proof of the leader's
///    death.
///  - This node's watch showed the end of that leader's session.
///  - This end left the shard without a leader.
///  - The confirmations of this node's own lease prove a bound (confirmation_log.h).
///
/// REQUIRES: as for Detect, with the context's view and time.
std::optional<Duration> DetectAtMost(const Context& context, const Transition& transition);

/// Sets `detect` and `detect_at_most` of the transition. REQUIRES: as for DetectAtMost.
void AddDetection(const Context& context, Transition& transition);

}  // namespace baton::core
