// Context: what the core lends its parts during one step, and PendingWrites, which they share.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/events.h"
#include "core/options.h"
#include "core/session.h"
#include "core/view.h"

namespace baton::core {

/// PendingWrites: the writes whose outcome is not definite yet. It sends the unknown items of a
/// write again, each unchanged, with a growing backoff, until all are definite or the write is
/// dropped.
class PendingWrites {
 public:
  void Submit(OperationId operation, Write&& write, std::vector<Action>& actions) {
    auto shared = std::make_shared<const Write>(std::move(write));
    actions.push_back(SubmitWrite{operation, shared});
    pending_.emplace(operation, Pending{std::move(shared), TimePoint::max(), kRetryFirst, {}});
  }
  /// Returns the write if this answer makes its outcome definite. Returns null if the outcome is
  /// still unknown, or if the write is not pending here.
  std::shared_ptr<const Write> Settle(const WriteAnswered& event, TimePoint now) {
    const auto found = pending_.find(event.operation);
    if (found == pending_.end()) return nullptr;
    Pending& pending = found->second;
    // If a server refuses this copy without looking at it, an earlier copy may still be applied.
    const bool looked_at = event.result.revision.value != 0 && !event.result.permanent;
    const bool refused_unseen =
        event.result.outcome == Outcome::kRefused && !looked_at && pending.earlier;
    if (event.result.outcome == Outcome::kUnknown || refused_unseen) {
      if (!refused_unseen) pending.earlier = event.result.items;
      pending.resend_at = now + pending.pause;
      pending.pause = std::min(2 * pending.pause, kRetryMost);
      return nullptr;
    }
    auto write = std::move(pending.write);
    pending_.erase(found);
    return write;
  }
  void Advance(TimePoint now, std::vector<Action>& actions, TimePoint& wake_at) {
    for (auto& [operation, pending] : pending_) {
      if (now >= pending.resend_at) {
        pending.resend_at = TimePoint::max();
        actions.push_back(SubmitWrite{operation, pending.write, pending.earlier});
      }
      wake_at = std::min(wake_at, pending.resend_at);
    }
  }
  /// Whether an answer left some item unknown, so that the write may be applied, now or later.
  bool Unknown(OperationId operation) const {
    const auto found = pending_.find(operation);
    return found != pending_.end() && found->second.earlier.has_value();
  }
  bool Has(OperationId operation) const { return pending_.contains(operation); }
  void Drop(OperationId operation) { pending_.erase(operation); }
  /// Drops all writes except those of operators: only the lost session wanted the others.
  void DropOfSession() {
    std::erase_if(pending_, [](const auto& entry) {
      if (std::holds_alternative<PolicyWrite>(*entry.second.write)) return false;
      const auto* moves = std::get_if<MoveBatch>(entry.second.write.get());
      return moves == nullptr || moves->balancer_term || moves->target;
    });
  }
  std::size_t size() const { return pending_.size(); }

 private:
  struct Pending {
    std::shared_ptr<const Write> write;
    TimePoint resend_at;
    Duration pause;
    std::optional<std::vector<Outcome>> earlier;  ///< set when an answer has left items unknown
  };
  std::map<OperationId, Pending> pending_;
};

struct Context {
  TimePoint now;
  const CoreOptions& options;
  const View& view;
  const Session& session;
  OperationId& next_operation;
  PendingWrites& writes;
  std::vector<Action>& actions;
  TimePoint& wake_at;
  bool draining = false;  ///< this node is stopping: it takes nothing new
  /// Always attached unless another process is the application.
  ApplicationState application = ApplicationState::kAttached;

  const NodeId& self() const { return options.self.node; }
  bool live() const { return session.live(now); }
  bool attached() const { return application == ApplicationState::kAttached; }
  void Do(Action action) { actions.push_back(std::move(action)); }
  void WakeAt(TimePoint at) { wake_at = std::min(wake_at, at); }
  OperationId Submit(Write&& write) {
    const OperationId operation = next_operation++;
    writes.Submit(operation, std::move(write), actions);
    return operation;
  }
  void Say(Notice::Level level, std::string text) { Do(Notice{level, std::move(text)}); }
};

}  // namespace baton::core
