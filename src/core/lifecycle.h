// Lifecycle: the stage of a node between its start and its end, with the data of that stage.
//
//   Running ─drain, stop─▶ Draining ─nothing held─▶ Closing ─lease settled─▶ Stopped
//      └─────────halt─────────┴───────▶ Halting ───────┘
//
// Plain values, owned by the core. A node may also halt while it closes, or after it has stopped.
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
  /// False: it held shards at the deadline, at the end, or when it lost its session.
  bool in_time = true;
  /// Set once the node resigns all that it holds: when this last made progress.
  std::optional<TimePoint> resigned_all_at;
  std::size_t left_to_resign = 0;  ///< how many shards it held at that time
};
/// The node gave up all shards because it may not go on. The same step goes on to Closing.
struct Halting {
  Error why;
  bool leave_lease = false;  ///< let the lease expire: another process may still act on the shards
};
/// The session has ended. Its lease is being revoked, or is left to expire.
struct Closing {
  bool in_time = true;          ///< see Draining
  std::optional<Error> halted;  ///< why the node halted; unset: it was drained or stopped
};
/// The lease is revoked, or left to expire. The node only follows its group now.
struct Stopped {
  std::optional<Error> halted;
};

using Lifecycle = std::variant<Running, Draining, Halting, Closing, Stopped>;

}  // namespace baton::core
