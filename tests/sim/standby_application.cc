#include "sim/standby_application.h"

#include <stdexcept>

namespace baton::sim {
namespace {

constexpr Duration kReadyMost = seconds(5);    // until it takes its word back
constexpr Duration kUnreadyMost = seconds(4);  // and until it is ready again
constexpr Duration kSaidLateMost = seconds(3);

}  // namespace

void StandbyApplication::Begin(ShardId shard, core::OperationId operation) {
  standbys_[shard] = {.operation = operation, .ready_since = std::nullopt};
  if (random_.Chance(faults_.throws)) throw std::runtime_error("the shard can't be loaded");
  if (random_.Chance(faults_.never)) return;
  host_.After(random_.Between(Duration{0}, kLoadsMost),
              [this, shard, operation] { Loaded(shard, operation); });
}

void StandbyApplication::Loaded(ShardId shard, core::OperationId operation) {
  SayOf(shard, operation, true);
  if (!random_.Chance(faults_.takes_back)) return;
  const Duration ready = random_.Between(Duration{0}, kReadyMost);
  Later(ready, shard, operation, false);
  Later(ready + random_.Between(Duration{0}, kUnreadyMost), shard, operation, true);
}

void StandbyApplication::Later(Duration delay, ShardId shard, core::OperationId operation,
                               bool ready) {
  host_.After(delay, [this, shard, operation, ready] { SayOf(shard, operation, ready); });
}

void StandbyApplication::SayOf(ShardId shard, core::OperationId operation, bool ready) {
  const auto found = standbys_.find(shard);
  if (found == standbys_.end() || found->second.operation != operation) return;
  Standby& standby = found->second;
  if (ready && !standby.ready_since) standby.ready_since = host_.world().now();
  if (!ready && standby.ready_since) {
    standby.ready_since.reset();
    ready_until_[shard] = host_.world().now();
  }
  say_({.operation = operation, .shard = shard, .ready = ready});
}

void StandbyApplication::End(ShardId shard) {
  prepared_.erase(shard);
  const auto found = standbys_.find(shard);
  if (found == standbys_.end()) return;
  const core::OperationId over = found->second.operation;
  if (found->second.ready_since) ready_until_[shard] = host_.world().now();
  standbys_.erase(found);
  if (!random_.Chance(faults_.late)) return;
  host_.After(random_.Between(Duration{0}, kSaidLateMost),
              [this, shard, over] { say_({.operation = over, .shard = shard, .ready = true}); });
}

Duration StandbyApplication::Loads(ShardId shard) {
  const bool loaded = prepared_.contains(shard) || ReadySince(shard).has_value();
  if (loaded || faults_.acquires_for == Duration{0}) return Duration{0};
  return random_.Between(Duration{0}, faults_.acquires_for);
}

std::optional<TimePoint> StandbyApplication::ReadySince(ShardId shard) const {
  const auto found = standbys_.find(shard);
  return found != standbys_.end() ? found->second.ready_since : std::nullopt;
}

std::optional<TimePoint> StandbyApplication::LastReady(ShardId shard) const {
  if (ReadySince(shard)) return host_.world().now();
  const auto found = ready_until_.find(shard);
  return found != ready_until_.end() ? std::optional(found->second) : std::nullopt;
}

}  // namespace baton::sim
