// Context: what one step lends to the core's parts, and the writes they have under way.
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

/// Writes whose fate is not definite yet. What is unknown of one is sent again, item by item the
/// very same, with a growing pause, until all of it is definite or dropped.
class PendingWrites {
 public:
  void Submit(OperationId operation, Write write, std::vector<Action>& actions) {
    auto shared = std::make_shared<const Write>(std::move(write));
    actions.push_back(SubmitWrite{operation, shared});
    pending_.emplace(operation, Pending{std::move(shared), TimePoint::max(), kRetryFirst, {}});
  }
  /// The write, once its answer is definite; null while it is unknown, or not pending here.
  std::shared_ptr<const Write> Settle(const WriteAnswered& event, TimePoint now) {
    const auto found = pending_.find(event.operation);
    if (found == pending_.end()) return nullptr;
    Pending& pending = found->second;
    // A server that refuses to look at this copy says nothing of an earlier one.
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
  /// An answer came that leaves something open: the write may be applied, now or later.
  bool Unknown(OperationId operation) const {
    const auto found = pending_.find(operation);
    return found != pending_.end() && found->second.earlier.has_value();
  }
  bool Has(OperationId operation) const { return pending_.contains(operation); }
  void Drop(OperationId operation) { pending_.erase(operation); }
  /// Drops what only the lost session could have wanted: all but operators' writes.
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
    std::optional<std::vector<Outcome>> earlier;  ///< set once an answer was unknown
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
  /// Always attached where the application is no other process.
  ApplicationState application = ApplicationState::kAttached;

  const NodeId& self() const { return options.self.node; }
  bool live() const { return session.live(now); }
  bool attached() const { return application == ApplicationState::kAttached; }
  void Do(Action action) { actions.push_back(std::move(action)); }
  void WakeAt(TimePoint at) { wake_at = std::min(wake_at, at); }
  OperationId Submit(Write write) {
    const OperationId operation = next_operation++;
    writes.Submit(operation, std::move(write), actions);
    return operation;
  }
  void Say(Notice::Level level, std::string text) { Do(Notice{level, std::move(text)}); }
};

}  // namespace baton::core
