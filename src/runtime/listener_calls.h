// ListenerCalls: passes a Listener's callbacks to the dispatcher, and logs the exceptions that they
// throw. It does not log those of Acquired, because the core reports them.
//
// The callbacks of a shard run in the order in which they were passed; Halted counts as one of
// shard 0. The loop calls every method.
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
  /// and end. REQUIRES: dispatcher and log outlive the callbacks.
  ListenerCalls(Dispatcher& dispatcher, std::shared_ptr<Listener> listener,
                std::shared_ptr<StandbyWords> words, NodeLog& log);

  /// `returned` is called once, on a thread of the dispatcher; its `ok` is false if the callback
  /// threw. It is never called if the dispatcher drops the callback.
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
