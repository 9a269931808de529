// Lifecycle: the stage of a node between its start and its end.
//
//   running ─drain, stop─▶ draining ─nothing held─▶ closing ─lease settled─▶ finished
//      └─────────halt─────────┴───────▶ halting ───────┘
//
// A node that drains takes no new shards, and gives away the shards that it holds. A node that
// halts gives up all shards at once. A node that closes has ended its session; the lease is being
// revoked, or is left to expire. A finished node follows its group, and does nothing else. If a
// node halts while it closes or after it has finished, its stage stays closing or finished.
//
// Pure and single-threaded: owned by the core.
#pragma once

#include <cstddef>
#include <optional>
#include <variant>

#include "base/clock.h"
#include "baton/result.h"
#include "core/context.h"
#include "core/events.h"
#include "core/leaderships.h"

namespace baton::core {

class Lifecycle {
 public:
  /// The node is asked to drain. At `deadline` it begins to resign the shards that it still holds.
  /// Does nothing unless running().
  void Drain(TimePoint deadline);
  /// The node is asked to stop, perhaps while it drains. From now on GivesAway does what
  /// StopRequested says (events.h). Does nothing if the node halts, closes or has finished.
  void Stop(TimePoint now);
  /// The node must stop for good. `leave_lease`: let the lease expire, because another process may
  /// still act on the shards. `leave_lease` has no effect if the node is closing or has finished.
  /// REQUIRES (checked): halted() is nullopt.
  void Halt(const Error& why, bool leave_lease);
  /// The session is lost. `held`: the node held shards then. If `held` is true and the node is
  /// draining, the drain counts as not in time.
  void SessionLost(bool held);

  /// For a node that drains: lets other nodes take its shards over, or resigns all of them. It
  /// resigns them in these cases:
  ///  - The deadline has passed, or Stop was called.
  ///  - The failover policy keeps the shards for this node (KeepsShardsFor).
  ///  - No other node that does not drain may begin to lead any of them.
  ///  - The application was asked to release a shard for its resignation.
  ///
  /// Returns true once both of these hold:
  ///  - No shard is held, or resignations have made no progress for 5 s. After Stop, a first call
  ///    without progress is enough.
  ///  - The member record says that this node leaves, or the session is not live, or the deadline
  ///    has passed.
  ///
  /// Call GivesAway in each step until it returns true. REQUIRES: Session::member(), and
  /// draining(); without draining() it throws std::bad_variant_access.
  bool GivesAway(Context& context, Leaderships& leaderships);

  /// How a session is closed.
  struct Closing {
    /// False: the node drained or stopped, and still held shards at the deadline, at the end, or
    /// when it lost its session. Always true if the node halted before it closed.
    bool in_time = true;
    std::optional<Error> halted;  ///< why the node halted; unset: it was drained or stopped
  };
  /// Goes on to closing. Returns `leave_lease` of an earlier Halt; false if there was no Halt.
  /// REQUIRES (checked): neither running() nor closing() nor finished().
  bool Close();
  /// Goes on to finished. Returns how the session was closed. REQUIRES: closing(); otherwise it
  /// throws std::bad_variant_access.
  Closing Finish();

  bool running() const { return std::holds_alternative<Running>(stage_); }
  /// Whether the node was asked to drain or stop, and has not begun to halt or close.
  bool draining() const { return std::holds_alternative<Draining>(stage_); }
  bool closing() const { return std::holds_alternative<Closing>(stage_); }
  bool finished() const { return std::holds_alternative<Ended>(stage_); }
  /// Why the node halted, which is for ever; nullopt: it has not halted.
  std::optional<Error> halted() const;

 private:
  struct Running {};
  struct Draining {
    TimePoint deadline = TimePoint::max();
    bool in_time = true;  ///< see Closing
    /// When the resignations last made progress. Unset: the node has not begun to resign all
    /// shards.
    std::optional<TimePoint> resigned_all_at;
    std::size_t left_to_resign = 0;  ///< how many shards it held at that time
  };
  /// The same step goes on to Closing.
  struct Halting {
    Error why;
    bool leave_lease = false;
  };
  struct Ended {
    std::optional<Error> halted;
  };

  static void ResignAll(Context& context, Leaderships& leaderships, bool late, bool keeps,
                        Draining& draining);

  std::variant<Running, Draining, Halting, Closing, Ended> stage_;
};

}  // namespace baton::core
