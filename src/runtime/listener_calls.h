// ListenerCalls: passes a Listener's callbacks to the dispatcher, and logs the exceptions that they
// throw, except those of Acquired, which the core reports.
//
// The callbacks of a shard run in the order in which they were passed. Transitioned counts as a
// callback of its shard, and Halted as a callback of shard 0. The loop calls every method. No
// method waits for a callback.
#pragma once

#include <functional>
#include <memory>

#include "baton/listener.h"
#include "core/events.h"
#include "runtime/dispatcher.h"
#include "runtime/node_log.h"
#include "runtime/standby_words.h"

namespace baton::runtime {

class ListenerCalls {
 public:
  using Returned = std::function<void(const core::CallbackReturned&)>;

  /// `listener` may be null; then Start must not be called. `words` learns which standbys begin and
  /// end. The callbacks keep `listener` and `words` alive, and may run after this object is
  /// destroyed. REQUIRES: `words` is not null; dispatcher and log outlive the callbacks.
  ListenerCalls(Dispatcher& dispatcher, std::shared_ptr<Listener> listener,
                std::shared_ptr<StandbyWords> words, NodeLog& log);

  /// Passes on a callback. When it has returned or thrown, `returned` is called once, on the same
  /// thread of the dispatcher. If it threw, `ok` is false, and `error` is one line (at most 256
  /// bytes and "..."). If the dispatcher drops the callback, `returned` is never called.
  void Start(const core::RunCallback& callback, Returned returned);
  // These two pass on Transitioned and Halted. Nobody learns when those have returned.
  void Start(const core::ReportTransition& report);
  void Start(const core::HaltNode& halt);

 private:
  Dispatcher& dispatcher_;
  const std::shared_ptr<Listener> listener_;
  const std::shared_ptr<StandbyWords> words_;
  NodeLog& log_;
};

}  // namespace baton::runtime
