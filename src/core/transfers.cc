#include "core/transfers.h"

#include <algorithm>
#include <utility>

namespace baton::core {

bool Transfers::StillGiven(const Context& context, ShardId shard, const HeldShard& held) {
  const MoveFact* move = context.view.move(shard);
  return move != nullptr && move->phase == MovePhase::kPrepared && move->ends == held.term &&
         context.view.LiveMove(*move);
}

void Transfers::Offer(Context& context, ShardId shard) {
  if (offered_.empty()) gather_until_ = context.now + kGatherPrepared;
  offered_.insert(shard);
}

// Whether the targets of other shards of ours are still preparing.
bool Transfers::MorePrepare(const Context& context) const {
  const auto& moves = context.view.moves();
  return std::any_of(moves.begin(), moves.end(), [&](const auto& entry) {
    const MoveFact& move = entry.second;
    return move.phase == MovePhase::kPlanned && move.from == context.self() &&
           context.view.LiveMove(move);
  });
}

// Sends one batch at a time; shards that wait for the next one are still led.
std::vector<ShardId> Transfers::Submit(Context& context, HeldShards& held) {
  // Gather first: a transfer sent among the targets' "prepared" writes would queue behind them
  // inside etcd, and its shards would have no leader meanwhile.
  const bool gathering = in_flight_.empty() && !offered_.empty() && context.now < gather_until_;
  if (gathering && MorePrepare(context)) {
    context.WakeAt(gather_until_);
    return {};
  }
  // A bad config is being put back: transfers would be refused.
  const View& view = context.view;
  if (view.config().revision != view.fitting_config().revision) return {};
  while (in_flight_.size() < kTransferBatchesInFlight && !offered_.empty() && context.live()) {
    TransferBatch batch{.from = context.self(), .transfers = {}};
    std::vector<ShardId> not_given = Gather(context, held, batch);
    if (!not_given.empty()) return not_given;
    for (const Transfer& transfer : batch.transfers) {
      context.Do(SetLeadership{transfer.shard, Term{}, false});
    }
    const std::vector<Transfer> sent = batch.transfers;
    const OperationId operation = context.Submit(WriteOwner::kLeaderships, std::move(batch));
    in_flight_.insert(operation);
    for (const Transfer& transfer : sent) {
      offered_.erase(transfer.shard);
      held.at(transfer.shard).phase = HeldShard::Giving{operation, context.now};
    }
  }
  return {};
}

// Fills the batch from what is offered. Returns the shards that it met whose moves are gone, or
// that a lock delay keeps here.
std::vector<ShardId> Transfers::Gather(const Context& context, const HeldShards& held,
                                       TransferBatch& batch) const {
  std::vector<ShardId> not_given;
  std::set<SessionRef> targets;
  const bool locks = context.view.failover().lock_delay.count() > 0;  // perhaps only now
  for (const ShardId shard : offered_) {
    const bool unreleased = locks && !held.at(shard).released;
    if (unreleased || !StillGiven(context, shard, held.at(shard))) {
      not_given.push_back(shard);
      continue;
    }
    const MoveFact& move = *context.view.move(shard);
    const SessionRef target{move.to, move.prepared_session};
    const std::size_t distinct = targets.size() + (targets.contains(target) ? 0 : 1);
    if (batch.transfers.size() >= std::min(MaxTransfers(distinct), kTransfersAtOnce)) break;
    targets.insert(target);
    batch.transfers.push_back({.shard = shard,
                               .term = held.at(shard).term,
                               .move_read = move.revision,
                               .to = target,
                               .directory = context.view.member(move.to)->directory,
                               .config = context.view.fitting_config().revision,
                               .reason = move.reason,
                               .actor = move.actor,
                               .cause = move.cause,
                               .tally = context.Tally(shard),
                               .unknown_fields = context.view.record(shard).unknown_fields});
  }
  return not_given;
}

// A transfer of unknown outcome is given up if its move is void, or after kGiveUpTransferAfter,
// because etcd may refuse every copy: a full database refuses puts. An abandon makes the outcome
// definite either way.
void Transfers::GiveUp(Context& context, HeldShards& held_shards) {
  const bool any_unknown =
      std::any_of(in_flight_.begin(), in_flight_.end(),
                  [&](OperationId operation) { return context.writes.Unknown(operation); });
  if (!any_unknown || !context.live()) return;
  AbandonBatch batch;
  for (const auto& [shard, held] : held_shards) {
    const auto* giving = std::get_if<HeldShard::Giving>(&held.phase);
    if (giving == nullptr || !context.writes.Unknown(giving->write)) continue;
    const bool given = StillGiven(context, shard, held);
    const TimePoint at = given ? giving->since + kGiveUpTransferAfter : held.give_not_before;
    if (context.now < at) {
      context.WakeAt(at);
      continue;
    }
    if (batch.abandons.size() >= kMaxAbandons) break;
    batch.abandons.push_back({.shard = shard, .term = held.term});
  }
  if (batch.abandons.empty()) return;
  const std::vector<Abandon> sent = batch.abandons;
  const OperationId operation = context.Submit(WriteOwner::kLeaderships, std::move(batch));
  for (const Abandon& abandon : sent) {
    HeldShard& held = held_shards.at(abandon.shard);
    held.phase = HeldShard::Abandoning{operation, std::get<HeldShard::Giving>(held.phase).write};
  }
}

void Transfers::DropDecided(Context& context, const HeldShards& held_shards) {
  std::set<OperationId> open;
  for (const auto& [shard, held] : held_shards) open.insert(held.Transfer());
  std::erase_if(in_flight_, [&](OperationId transfer) {
    const bool decided = !open.contains(transfer);
    if (decided) context.writes.Drop(transfer);
    return decided;
  });
}

void Transfers::Clear(Context& context) {
  for (const OperationId operation : in_flight_) context.writes.Drop(operation);
  in_flight_.clear();
}

}  // namespace baton::core
