// ListenerCalls: passes a Listener's callbacks to the dispatcher, and logs the exceptions that they
// throw, except those of Acquired, which the core reports.
//
// The callbacks of a shard run in the order in which they were passed, also Transitioned; Halted
// counts as one of shard 0. The loop calls every method. No method waits for a callback.
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

  /// `listener` may be null; then nothing else may be called. `words` learns which standbys begin
  /// and end. The callbacks keep both objects, and may run after this object is destroyed.
  /// REQUIRES: `words` is not null; dispatcher and log outlive the callbacks.
  ListenerCalls(Dispatcher& dispatcher, std::shared_ptr<Listener> listener,
                std::shared_ptr<StandbyWords> words, NodeLog& log);

  /// When the callback has returned or thrown, `returned` is called once, on the same thread of the
  /// dispatcher. If the callback threw, `ok` is false, and `error` is one line (at most 256 bytes
  /// and "..."). If the dispatcher drops the callback, `returned` is never called.
  void Start(const core::RunCallback& callback, Returned returned);
  void Start(const core::ReportTransition& report);
  void Start(const core::HaltNode& halt);

 private:
  Dispatcher& dispatcher_;
  const std::shared_ptr<Listener> listener_;
  const std::shared_ptr<StandbyWords> words_;
  NodeLog& log_;
};

}  // namespace baton::runtime
