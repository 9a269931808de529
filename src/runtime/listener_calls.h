// ListenerCalls: passes a Listener's callbacks to the dispatcher. It logs each exception of a
// callback other than Acquired. The core reports those of Acquired.
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

  /// If `listener` is null, Start must not be called. `words` gets each RunCallback right before
  /// the callback runs (StandbyWords::Note). The callbacks keep `listener` and `words` alive, and
  /// may run after this object is destroyed. REQUIRES: `words` is not null; dispatcher and log
  /// outlive the callbacks.
  ListenerCalls(Dispatcher& dispatcher, std::shared_ptr<Listener> listener,
                std::shared_ptr<StandbyWords> words, NodeLog& log);

  /// Passes on a callback. When the callback has returned or thrown, `returned` is called once, on
  /// the same thread of the dispatcher. If the callback threw, `ok` is false, and `error` is one
  /// line (at most 256 bytes and "..."). If the dispatcher drops the callback, `returned` is never
  /// called.
  void Start(const core::RunCallback& callback, Returned returned);
  // These two pass on Transitioned and Halted. Nobody learns when these callbacks have returned.
  void Start(const core::ReportTransition& report);
  void Start(const core::HaltNode& halt);

 private:
  Dispatcher& dispatcher_;
  const std::shared_ptr<Listener> listener_;
  const std::shared_ptr<StandbyWords> words_;
  NodeLog& log_;
};

}  // namespace baton::runtime
