#include "core/pending_writes.h"

#include <algorithm>
#include <utility>

#include "core/options.h"

namespace baton::core {

void PendingWrites::Submit(OperationId operation, WriteOwner owner, Write&& write,
                           std::vector<Action>& actions) {
  auto shared = std::make_shared<const Write>(std::move(write));
  actions.push_back(SubmitWrite{operation, shared});
  pending_.emplace(operation, Pending{.owner = owner,
                                      .write = std::move(shared),
                                      .resend_at = TimePoint::max(),
                                      .pause = kMinRetryPause,
                                      .earlier = std::nullopt,
                                      .may_be_sent = false});
}

std::optional<PendingWrites::Settled> PendingWrites::Settle(const WriteAnswered& event,
                                                            TimePoint now) {
  const auto found = pending_.find(event.operation);
  if (found == pending_.end()) return std::nullopt;
  Pending& pending = found->second;
  // If a server refuses this copy without looking at it, an earlier copy may still be applied.
  const bool looked_at = event.result.revision.value != 0 && !event.result.permanent;
  const bool refused_unseen =
      event.result.outcome == Outcome::kRefused && !looked_at && pending.earlier;
  if (event.result.outcome == Outcome::kUnknown || refused_unseen) {
    if (!refused_unseen) pending.earlier = event.result.items;
    pending.may_be_sent = pending.may_be_sent || !event.result.never_sent;
    pending.resend_at = now + pending.pause;
    pending.pause = std::min(2 * pending.pause, kMaxRetryPause);
    return std::nullopt;
  }
  Settled settled{.owner = pending.owner,
                  .write = std::move(pending.write),
                  .sent_once = !pending.earlier.has_value()};
  pending_.erase(found);
  return settled;
}

void PendingWrites::Advance(TimePoint now, std::vector<Action>& actions, TimePoint& wake_at) {
  for (auto& [operation, pending] : pending_) {
    if (now >= pending.resend_at) {
      pending.resend_at = TimePoint::max();
      actions.push_back(SubmitWrite{operation, pending.write, pending.earlier});
    }
    wake_at = std::min(wake_at, pending.resend_at);
  }
}

bool PendingWrites::Unknown(OperationId operation) const {
  const auto found = pending_.find(operation);
  return found != pending_.end() && found->second.earlier.has_value();
}

bool PendingWrites::NeverSent(OperationId operation) const {
  const auto found = pending_.find(operation);
  if (found == pending_.end()) return false;
  const bool in_flight = found->second.resend_at == TimePoint::max();
  return !in_flight && !found->second.may_be_sent;
}

void PendingWrites::DropOfSession() {
  std::erase_if(pending_,
                [](const auto& entry) { return entry.second.owner != WriteOwner::kRequests; });
}

}  // namespace baton::core
