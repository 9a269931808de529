// Context: what the core lends its parts during one step. After the step, no part keeps the context
// or a reference from it.
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

/// The error that operators get while the view is not complete.
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
  /// This node takes nothing new: it was asked to drain or to stop, or has halted or finished. An
  /// operator's policy kDrain does not set this.
  bool draining = false;
  /// The node halted or finished in an earlier step. A write that is submitted now is sent once,
  /// and not again if its outcome is unknown.
  bool ended = false;
  /// Can differ from kAttached only if the application is another process, or if a watchdog watches
  /// this process.
  ApplicationState application = ApplicationState::kAttached;

  const NodeId& self() const { return options.self.node; }
  bool live() const { return session.live(now); }
  /// The wall clock's time; WallTime{}: unknown.
  WallTime wall() const { return options.wall_clock ? options.wall_clock() : WallTime{}; }
  /// The DeathTally (base/facts.h) for the shard's next record, if this node writes the record now.
  DeathTally Tally(ShardId shard) const { return view.NextTally(shard, now, wall()); }
  bool attached() const { return application == ApplicationState::kAttached; }
  void Do(Action action) { actions.push_back(std::move(action)); }
  /// Asks for the next step at `at` or earlier.
  void WakeAt(TimePoint at) { wake_at = std::min(wake_at, at); }
  /// Sends the write, and returns its operation number. If the outcome is unknown, PendingWrites
  /// sends the write again. That ends when the outcome is definite, or when the write is dropped,
  /// for example because the session is lost. `owner` gets the outcome once it is definite, and no
  /// earlier answers.
  OperationId Submit(WriteOwner owner, Write&& write) {
    const OperationId operation = next_operation++;
    writes.Submit(operation, owner, std::move(write), actions);
    return operation;
  }
  void Say(Notice::Level level, std::string text) { Do(Notice{level, std::move(text)}); }
};

}  // namespace baton::core
