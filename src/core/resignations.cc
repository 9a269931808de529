#include "core/resignations.h"

#include <algorithm>
#include <utility>

namespace baton::core {

std::size_t Resignations::Room() const {
  if (in_flight_.size() >= kResignBatchesInFlight) return 0;
  return (kResignBatchesInFlight - in_flight_.size()) * kMaxResigns;
}

void Resignations::Submit(Context& context, HeldShards& held_shards, Transfers& transfers,
                          const std::vector<ShardId>& shards, Reason reason) {
  for (std::size_t first = 0; first < shards.size(); first += kMaxResigns) {
    ResignBatch batch{.from = {context.self(), context.session.id()},
                      .resigns = {},
                      .directory = context.options.self.directory};
    const std::size_t end = std::min(shards.size(), first + kMaxResigns);
    for (std::size_t i = first; i < end; ++i) {
      const HeldShard& held = held_shards.at(shards[i]);
      context.Do(SetLeadership{shards[i], Term{}, false});
      batch.resigns.push_back({.shard = shards[i],
                               .term = held.term,
                               .reason = reason,
                               .tally = context.Tally(shards[i]),
                               .released = held.released,
                               .unknown_fields = context.view.record(shards[i]).unknown_fields});
    }
    const OperationId operation = context.Submit(WriteOwner::kLeaderships, std::move(batch));
    in_flight_.insert(operation);
    for (std::size_t i = first; i < end; ++i) {
      HeldShard& held = held_shards.at(shards[i]);
      transfers.Withdraw(shards[i]);
      Withdraw(shards[i]);
      // A late `acquired` still counts: if the node leads on, the shard is tried again after it.
      if (held.activation_deadline != TimePoint::max()) held.activation = 0;
      held.activation_deadline = TimePoint::max();
      held.phase = HeldShard::Resigning{operation};
    }
  }
}

void Resignations::SubmitUnreleased(Context& context, HeldShards& held, Transfers& transfers) {
  if (unreleased_.empty()) return;
  std::vector<ShardId> shards;
  for (std::size_t room = Room(); room > 0 && !unreleased_.empty(); --room) {
    shards.push_back(*unreleased_.begin());
    unreleased_.erase(unreleased_.begin());
  }
  Submit(context, held, transfers, shards, Reason::kCallbackTimeout);
}

}  // namespace baton::core
