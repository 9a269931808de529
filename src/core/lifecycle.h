// Lifecycle: the stage of a node between its start and its end.
//
//   running ─drain, stop─▶ draining ─nothing held─▶ closing ─lease settled─▶ finished
//      └─────────halt─────────┴───────▶ halting ───────┘
//
// A node that drains takes nothing new, and gives away what it holds. A node that halts may not go
// on: it gives up all shards at once. While it closes, its session has ended, and its lease is
// being revoked or is left to expire. A finished node only follows its group. A node may also halt
// while it closes, or after it has finished.
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
  /// The node is asked to drain. From `deadline` on it resigns what is not handed over. Nothing
  /// happens if it drains already, or has begun to end.
  void Drain(TimePoint deadline);
  /// The node is asked to stop: it resigns everything at once, and does not wait for etcd's
  /// answers. Nothing happens if it has begun to end.
  void Stop(TimePoint now);
  /// The node may not go on. `leave_lease`: let the lease expire, because another process may still
  /// act on the shards. REQUIRES (checked): halted() is nullopt.
  void Halt(const Error& why, bool leave_lease);
  /// The session is lost. `held`: the node held shards. What it held may have been given away by a
  /// write whose answer is missing. To call such a drain late is the safe direction.
  void SessionLost(bool held);

  /// For a node that drains: hands over the shards that have a target, and resigns the rest.
  /// Returns true once nothing is left, or etcd must be away. Until then it must be called in each
  /// step. REQUIRES: draining(), and Session::member().
  bool GivesAway(Context& context, Leaderships& leaderships);

  /// How a session is closed.
  struct Closing {
    bool in_time = true;          ///< false: it held shards at the deadline, at the end, or when it
                                  ///< lost its session
    std::optional<Error> halted;  ///< why the node halted; unset: it was drained or stopped
  };
  /// Goes on to closing. Returns whether a halt asked to let the lease expire. REQUIRES (checked):
  /// neither running() nor closing() nor finished().
  bool Close();
  /// Goes on to finished. Returns how it ended. REQUIRES: closing().
  Closing Finish();

  bool running() const { return std::holds_alternative<Running>(stage_); }
  /// Whether the node was asked to drain or stop, and has not begun to end.
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
    /// Set once the node resigns all that it holds: when this last made progress.
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
