// PendingRequests: the requests of operators that the core has not answered, with their handlers.
//
// The core answers each request once, even if the request's time (`within`) is over, and bounds how
// many requests wait (core::OperatorRequests). So this class has no timers and no bound. Each
// handler is called once, from inside Answer or Close. If this object is destroyed without Close,
// the handlers that wait are never called. REQUIRES (not checked): no request is added after Close,
// because nobody would answer that request.
//
// Single-threaded: an Engine owns it, and uses it on the loop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "base/clock.h"
#include "base/facts.h"
#include "baton/result.h"
#include "core/events.h"
#include "runtime/control.h"

namespace baton::runtime {

class PendingRequests {
 public:
  using TransferHandler = std::function<void(Result<MoveFact>)>;
  using ChangeHandler = std::function<void(Status)>;
  using RetryHandler = std::function<void(Result<std::uint32_t>)>;
  using NodeChangeHandler = std::function<void(Result<NodeChanged>)>;

  /// Keeps the handler, and returns the event for the core, with a new request id. The request's
  /// `within` counts from `now`; unset: no limit. Retries and changes of the node's settings have
  /// no `within`, because the core answers them at once.
  core::TransferRequested Add(TransferRequest request, TransferHandler handler, TimePoint now);
  core::PolicyRequested Add(PolicyRequest request, ChangeHandler handler, TimePoint now);
  core::RetryRequested Add(RetryRequest request, RetryHandler handler, TimePoint now);
  core::GroupChangeRequested Add(GroupChangeRequest request, ChangeHandler handler, TimePoint now);
  core::ReleaseRequested Add(ReleaseRequest request, ChangeHandler handler, TimePoint now);
  core::NodeChangeRequested Add(NodeChangeRequest request, NodeChangeHandler handler,
                                TimePoint now);

  /// Forgets the request, and calls its handler with the answer. Does nothing if the request was
  /// answered before. AnswerChange is for changes of policies and of the group, and for releases.
  void Answer(const core::AnswerTransfer& action);
  void Answer(const core::AnswerChange& action);
  void Answer(const core::AnswerRetry& action);
  void Answer(const core::AnswerNodeChange& action);

  /// Call Close when the node stops. Forgets all requests, and calls their handlers. Retries and
  /// changes of this node's settings get kUnavailable. All others get kTimedOut, even dry runs,
  /// because a write may still be done. A second Close does nothing.
  void Close();

 private:
  std::map<core::RequestId, TransferHandler> transfers_;
  std::map<core::RequestId, ChangeHandler> changes_;
  std::map<core::RequestId, RetryHandler> retries_;
  std::map<core::RequestId, NodeChangeHandler> node_changes_;
  core::RequestId next_ = 1;
};

}  // namespace baton::runtime
