#include "core/standby_duties.h"

#include <algorithm>
#include <cstddef>

namespace baton::core {
namespace {

// Adds the shards of which the node is a replica, no matter who leads them, to `shards`, which are
// sorted. Of a large group's shards these are few, so nothing else is asked about the others.
void AddReplicas(const View& view, const NodeId& node, std::vector<ShardId>& shards) {
  if (view.standbys().empty()) return;
  const auto middle = static_cast<std::ptrdiff_t>(shards.size());
  for (std::uint32_t s = 0; s < view.shard_count(); ++s) {
    if (view.standbys().StandsBy(ShardId{s}, nullptr, node)) shards.push_back(ShardId{s});
  }
  std::inplace_merge(shards.begin(), shards.begin() + middle, shards.end());
  shards.erase(std::unique(shards.begin(), shards.end()), shards.end());
}

}  // namespace

void StandbyDuties::On(const StandbyReadySaid& event) {
  const auto found = duties_.find(event.shard);
  if (found == duties_.end() || found->second.callback != event.operation) return;
  SetReady(found->second, event.ready);
}

void StandbyDuties::SetReady(Duty& duty, bool ready) {
  if (duty.ready == ready) return;
  taken_back_ -= duty.TakenBack() ? 1 : 0;
  duty.ready = ready;
  taken_back_ += duty.TakenBack() ? 1 : 0;
  ready_ += ready ? 1 : -1;
  ready_changed_ = true;
}

void StandbyDuties::SetTold(Duty& duty, bool told) {
  taken_back_ -= duty.TakenBack() ? 1 : 0;
  duty.told = told;
  taken_back_ += duty.TakenBack() ? 1 : 0;
}

void StandbyDuties::Note(const View& view, const ViewChanges& changes,
                         const Leaderships& leaderships) {
  if (view.standbys().empty() && duties_.empty()) return;
  ViewChanges shards;
  shards.shards = changes.shards;
  changed_.Note(shards);
  shards.shards = changes.standbys;
  changed_.Note(shards);
  if (duties_.empty()) return;
  for (const ShardId shard : changes.shards) {
    if (leaderships.held().contains(shard)) Erase(shard);
  }
}

void StandbyDuties::Advance(Context& context, const Leaderships& leaderships) {
  if (context.draining) return EndAll(context);
  if (!context.view.complete() || !context.live() || !context.attached()) return;
  std::vector<ShardId> shards = changed_.shards();
  if (changed_.all()) {
    for (const auto& [shard, duty] : duties_) shards.push_back(shard);
    AddReplicas(context.view, context.self(), shards);
  }
  for (const ShardId shard : shards) Look(context, shard, leaderships);
  changed_.Clear();
}

void StandbyDuties::Look(Context& context, ShardId shard, const Leaderships& leaderships) {
  if (leaderships.held().contains(shard)) return;
  const bool known = duties_.contains(shard);
  const bool wanted = context.view.StandsBy(shard, context.self());
  if (wanted && !known) Begin(context, shard);
  if (!wanted && known) End(context, shard);
}

void StandbyDuties::Begin(Context& context, ShardId shard) {
  Duty& duty = duties_[shard];
  // Others may still read that an earlier standby here was ready.
  SetTold(duty, std::binary_search(told_.begin(), told_.end(), shard));
  if (!context.options.has_listener) return SetReady(duty, true);
  duty.callback = context.next_operation++;
  context.Do(RunCallback{.operation = duty.callback,
                         .shard = shard,
                         .kind = CallbackKind::kStandby,
                         .term = context.view.record(shard).term()});
}

void StandbyDuties::End(Context& context, ShardId shard) {
  Erase(shard);
  if (!context.options.has_listener) return;
  context.Do(RunCallback{.operation = context.next_operation++,
                         .shard = shard,
                         .kind = CallbackKind::kStandbyEnded,
                         .term = {}});
}

void StandbyDuties::Erase(ShardId shard) {
  const auto found = duties_.find(shard);
  if (found == duties_.end()) return;
  SetReady(found->second, false);
  SetTold(found->second, false);  // nobody relies on it: this node does not stand by
  duties_.erase(found);
}

void StandbyDuties::EndAll(Context& context) {
  while (!duties_.empty()) End(context, duties_.begin()->first);
}

void StandbyDuties::Forget() {
  ready_changed_ = ready_changed_ || ready_ > 0;
  ready_ = taken_back_ = 0;
  duties_.clear();
  changed_.SetAll();
}

bool StandbyDuties::Ready(ShardId shard) const {
  const auto found = duties_.find(shard);
  return found != duties_.end() && found->second.ready;
}

std::optional<std::vector<ShardId>> StandbyDuties::TakeReady(Context& context) {
  if (!ready_changed_) return std::nullopt;
  const TimePoint not_before = pace_.NotBefore(taken_back_ > 0);
  if (context.now < not_before) {
    context.WakeAt(not_before);
    return std::nullopt;
  }
  pace_.Told(context.now, taken_back_ > 0, context.view.LiveMembers(), ready_);
  ready_changed_ = false;
  std::vector<ShardId> shards;
  shards.reserve(ready_);
  for (auto& [shard, duty] : duties_) {
    if (duty.ready) shards.push_back(shard);
    SetTold(duty, duty.ready);
  }
  told_ = shards;
  return shards;
}

}  // namespace baton::core
