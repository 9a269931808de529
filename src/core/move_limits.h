// MoveLimits: how many moves are made at once, and how soon. The group's policy `limits` sets these
// limits. For each limit that the policy does not set, this node's own option counts.
//
// Pure functions of the view.
#pragma once

#include <cstddef>

#include "base/clock.h"
#include "base/facts.h"
#include "core/options.h"
#include "core/view.h"

namespace baton::core {

struct MoveLimits {
  std::size_t max_moves = 0;   ///< moves in flight in the whole group; at least 1
  Duration rebalance_delay{};  ///< how long an imbalance must last
  Duration cooldown{};         ///< for how long a moved shard is not moved again for balance
};

/// The limits that hold now. They change with the policy, so ask again for each decision.
MoveLimits MoveLimitsOf(const View& view, const CoreOptions& options);

/// Returns the write that makes an operator's change of the policy `limits`, as the view shows that
/// policy. If the changed policy sets no limit and has no unknown fields, the write deletes the
/// policy. `actor`: who asked.
PolicyWrite LimitsWrite(const View& view, const LimitsChange& change, const std::string& actor);

}  // namespace baton::core
