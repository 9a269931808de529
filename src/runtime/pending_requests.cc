#include "runtime/pending_requests.h"

#include <utility>

namespace baton::runtime {
namespace {

const Error kStoppedMeanwhile{ErrorCode::kTimedOut,
                              "the node has stopped; the change may still be made"};

PolicyName NameOf(const PolicyRequest& request) {
  switch (request.verb) {
    case PolicyRequest::Verb::kDrain:
    case PolicyRequest::Verb::kUndrain: return {PolicyKind::kDrain, request.node};
    case PolicyRequest::Verb::kPause:
    case PolicyRequest::Verb::kResume: return {PolicyKind::kPause};
    case PolicyRequest::Verb::kApplyRebalance:
    case PolicyRequest::Verb::kCancelRebalance: return {PolicyKind::kRebalance};
    case PolicyRequest::Verb::kSetExpectedNodes: return {PolicyKind::kExpectedNodes};
    case PolicyRequest::Verb::kSetLimits: return {PolicyKind::kLimits};
  }
  return {};
}

bool IsSetBy(const PolicyRequest& request) {
  using Verb = PolicyRequest::Verb;
  return request.verb == Verb::kDrain || request.verb == Verb::kPause ||
         request.verb == Verb::kApplyRebalance || request.number > 0;
}

TimePoint AnswerBy(const std::optional<Duration>& within, TimePoint now) {
  return within ? now + *within : TimePoint::max();
}

}  // namespace

core::TransferRequested PendingRequests::Add(TransferRequest request, TransferHandler handler,
                                             TimePoint now) {
  const core::RequestId id = next_++;
  transfers_[id] = std::move(handler);
  return {id,
          request.shard,
          request.to,
          request.if_term,
          request.dry_run,
          request.actor,
          AnswerBy(request.within, now)};
}

core::PolicyRequested PendingRequests::Add(PolicyRequest request, ChangeHandler handler,
                                           TimePoint now) {
  const core::RequestId id = next_++;
  changes_[id] = std::move(handler);
  return {id,
          NameOf(request),
          IsSetBy(request),
          request.actor,
          AnswerBy(request.within, now),
          request.number,
          request.limits,
          request.dry_run};
}

core::RetryRequested PendingRequests::Add(RetryRequest request, RetryHandler handler, TimePoint) {
  const core::RequestId id = next_++;
  retries_[id] = std::move(handler);
  return {id, request.shard, request.dry_run, request.actor};
}

core::GroupChangeRequested PendingRequests::Add(GroupChangeRequest request, ChangeHandler handler,
                                                TimePoint now) {
  const core::RequestId id = next_++;
  changes_[id] = std::move(handler);
  return {.request = id,
          .failover = request.failover,
          .delay = request.delay,
          .lock_delay = request.lock_delay,
          .placement = std::move(request.placement),
          .dry_run = request.dry_run,
          .actor = request.actor,
          .answer_by = AnswerBy(request.within, now)};
}

core::ReleaseRequested PendingRequests::Add(ReleaseRequest request, ChangeHandler handler,
                                            TimePoint now) {
  const core::RequestId id = next_++;
  changes_[id] = std::move(handler);
  return {.request = id,
          .shard = request.shard,
          .dry_run = request.dry_run,
          .actor = request.actor,
          .answer_by = AnswerBy(request.within, now)};
}

core::NodeChangeRequested PendingRequests::Add(NodeChangeRequest request, NodeChangeHandler handler,
                                               TimePoint) {
  const core::RequestId id = next_++;
  node_changes_[id] = std::move(handler);
  return {.request = id,
          .node = std::move(request.node),
          .change = std::move(request.change),
          .dry_run = request.dry_run,
          .actor = std::move(request.actor)};
}

void PendingRequests::Answer(const core::AnswerTransfer& action) {
  const auto found = transfers_.extract(action.request);
  if (!found.empty()) found.mapped()(action.result);
}

void PendingRequests::Answer(const core::AnswerChange& action) {
  const auto found = changes_.extract(action.request);
  if (!found.empty()) found.mapped()(action.result);
}

void PendingRequests::Answer(const core::AnswerRetry& action) {
  const auto found = retries_.extract(action.request);
  if (!found.empty()) found.mapped()(action.result);
}

void PendingRequests::Answer(const core::AnswerNodeChange& action) {
  const auto found = node_changes_.extract(action.request);
  if (!found.empty()) found.mapped()(action.result);
}

void PendingRequests::Close() {
  for (const auto& [id, handler] : std::exchange(transfers_, {})) handler(kStoppedMeanwhile);
  for (const auto& [id, handler] : std::exchange(changes_, {})) handler(kStoppedMeanwhile);
  for (const auto& [id, handler] : std::exchange(retries_, {})) handler(kNodeStopped);
  for (const auto& [id, handler] : std::exchange(node_changes_, {})) handler(kNodeStopped);
}

}  // namespace baton::runtime
