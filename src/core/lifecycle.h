// Lifecycle: where a node is between its start and its end, with what belongs to that stage.
//
//   Running ─drain, stop─▶ Draining ─nothing held─▶ Closing ─lease settled─▶ Stopped
//      └─────────halt─────────┴───────▶ Halting ───────┘
//
// Plain values, owned by the core.
#pragma once

#include <cstddef>
#include <optional>
#include <variant>

#include "base/clock.h"
#include "baton/result.h"

namespace baton::core {

/// The node takes part.
struct Running {};
/// The node takes nothing new, and gives away what it holds.
struct Draining {
  TimePoint deadline = TimePoint::max();  ///< from then on it resigns what is not handed over
  bool in_time = true;                    ///< nothing was left when the deadline came
  /// When the node last made progress in resigning all that it holds; nullopt: it does not yet.
  std::optional<TimePoint> resigned_all_at;
  std::size_t left_to_resign = 0;
};
/// The node gave up all shards because it may not go on. The same step goes on to Closing.
struct Halting {
  Error why;
  bool leave_lease = false;  ///< another process may still act on the shards that were given up
};
/// The session has ended here, and its lease is being revoked.
struct Closing {
  bool in_time = true;
  std::optional<Error> halted;
};
/// The lease is revoked, or left to expire. The node only follows its group now.
struct Stopped {
  std::optional<Error> halted;
};

using Lifecycle = std::variant<Running, Draining, Halting, Closing, Stopped>;

}  // namespace baton::core
