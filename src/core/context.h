// Context: what the core lends its parts during one step. No part keeps it, or a reference from it,
// after the step.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/events.h"
#include "core/options.h"
#include "core/pending_writes.h"
#include "core/session.h"
#include "core/view.h"

namespace baton::core {

/// The answer to operators while the view is not complete.
inline const Error kNoView{ErrorCode::kUnavailable, "this node's view is not complete yet"};

struct Context {
  TimePoint now;
  const CoreOptions& options;
  const View& view;
  const Session& session;
  OperationId& next_operation;
  PendingWrites& writes;
  std::vector<Action>& actions;
  TimePoint& wake_at;
  /// This node was asked to drain or to stop, or has halted: it takes nothing new. An operator's
  /// policy kDrain does not set this.
  bool draining = false;
  bool ended = false;  ///< the node halted or finished in an earlier step; it sends no write again
  /// Always kAttached, except if the application is another process, or if a watchdog watches this
  /// process.
  ApplicationState application = ApplicationState::kAttached;

  const NodeId& self() const { return options.self.node; }
  bool live() const { return session.live(now); }
  /// The wall clock's time; WallTime{}: unknown.
  WallTime wall() const { return options.wall_clock ? options.wall_clock() : WallTime{}; }
  /// The tally for a record of the shard that this node writes now.
  DeathTally Tally(ShardId shard) const { return view.NextTally(shard, now, wall()); }
  bool attached() const { return application == ApplicationState::kAttached; }
  void Do(Action action) { actions.push_back(std::move(action)); }
  /// Asks for the next step at `at` or earlier.
  void WakeAt(TimePoint at) { wake_at = std::min(wake_at, at); }
  /// Sends the write, again and again until its outcome is definite or it is dropped, for example
  /// because the session is lost (PendingWrites). The core tells `owner` only a definite outcome.
  OperationId Submit(WriteOwner owner, Write&& write) {
    const OperationId operation = next_operation++;
    writes.Submit(operation, owner, std::move(write), actions);
    return operation;
  }
  void Say(Notice::Level level, std::string text) { Do(Notice{level, std::move(text)}); }
};

}  // namespace baton::core
