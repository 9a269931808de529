#include "core/failed_activations.h"

#include <algorithm>

#include "base/check.h"

namespace baton::core {
namespace {

constexpr Duration kFirstBackoff = std::chrono::milliseconds(100);
constexpr Duration kLongestBackoff = std::chrono::seconds(5);
constexpr Duration kReleaseEvery = std::chrono::seconds(1);
constexpr Duration kSayEvery = std::chrono::seconds(1);

// Half of it is jitter, so that the shards of a failure don't stay in step.
Duration Backoff(const Context& context, std::uint32_t failures) {
  Duration backoff = kFirstBackoff;
  for (std::uint32_t i = 1; i < failures && backoff < kLongestBackoff; ++i) backoff *= 2;
  backoff = std::min(backoff, kLongestBackoff);
  const auto half = static_cast<std::uint64_t>((backoff / 2).count());
  return backoff / 2 + Duration(context.options.random() % (half + 1));
}

}  // namespace

void FailedActivations::Failed(Context& context, ShardId shard, const std::string& error) {
  Record(context, shard, error);
  failures_.at(shard).late = false;
  Schedule(context, shard);
}

void FailedActivations::Late(Context& context, ShardId shard) {
  Record(context, shard, "it has not returned in time, and still runs");
  failures_.at(shard).late = true;
  hopeless_.insert(shard);
}

void FailedActivations::Record(Context& context, ShardId shard, const std::string& error) {
  Failure& failure = failures_[shard];
  if (failure.failures == 0) failure.since = context.now;
  ++failure.failures;
  ++failure.backoffs;
  ++total_;
  failure.error = error;
  if (failure.failures >= kFailuresBeforeResigning) hopeless_.insert(shard);
  Say(context, shard, failure);
}

void FailedActivations::Succeeded(Context& context, ShardId shard) {
  const bool retried = failures_.contains(shard);
  Forget(shard);
  if (!retried || context.now < release_not_before_) return;
  release_not_before_ = context.now + kReleaseEvery;
  by_time_.clear();
  for (auto& [waiting, due] : waiting_) {
    due = std::min(due, context.now);
    by_time_.emplace(due, waiting);
  }
}

void FailedActivations::Schedule(Context& context, ShardId shard) {
  const auto found = failures_.find(shard);
  BATON_CHECK(found != failures_.end());
  if (const auto waiting = waiting_.find(shard); waiting != waiting_.end()) {
    by_time_.erase({waiting->second, shard});
  }
  const TimePoint due = context.now + Backoff(context, found->second.backoffs);
  waiting_[shard] = due;
  by_time_.emplace(due, shard);
}

// If the shard is being tried at this moment, that try goes on, and a next one follows soon.
void FailedActivations::Hasten(ShardId shard) {
  const auto found = failures_.find(shard);
  BATON_CHECK(found != failures_.end());
  found->second.backoffs = 0;
  const auto waiting = waiting_.find(shard);
  if (waiting == waiting_.end()) return;
  by_time_.erase({waiting->second, shard});
  waiting->second = TimePoint::min();  // before all others that are due
  by_time_.emplace(waiting->second, shard);
  hastened_.insert(shard);
}

void FailedActivations::Forget(ShardId shard) {
  failures_.erase(shard);
  hastened_.erase(shard);
  hopeless_.erase(shard);
  const auto waiting = waiting_.find(shard);
  if (waiting == waiting_.end()) return;
  by_time_.erase({waiting->second, shard});
  waiting_.erase(waiting);
}

bool FailedActivations::Ready(Context& context) const {
  if (by_time_.empty() || Full()) return false;
  if (by_time_.begin()->first <= context.now) return true;
  context.WakeAt(by_time_.begin()->first);
  return false;
}

ShardId FailedActivations::Next() {
  const ShardId shard = by_time_.begin()->second;
  by_time_.erase(by_time_.begin());
  waiting_.erase(shard);
  return shard;
}

bool FailedActivations::Waits(ShardId shard) const {
  if (waiting_.contains(shard)) return true;
  const auto found = failures_.find(shard);
  return found != failures_.end() && found->second.late;
}

// A shard that is not taken at its time is looked at again when it fails again.
std::vector<ShardId> FailedActivations::TakeHopeless(Context& context, std::size_t members) {
  std::vector<ShardId> taken;
  const Duration each = kResignFailedEvery * static_cast<std::int64_t>(members);
  const TimePoint burst_ends = context.now + kResignFailedBurst * each;
  while (!hopeless_.empty() && paced_until_ < burst_ends) {
    paced_until_ = std::max(paced_until_, context.now) + each;
    taken.push_back(*hopeless_.begin());
    hopeless_.erase(hopeless_.begin());
  }
  if (!hopeless_.empty()) context.WakeAt(paced_until_ - kResignFailedBurst * each + each);
  return taken;
}

// A failure can hit all shards at once, so most of them are only counted.
void FailedActivations::Say(Context& context, ShardId shard, const Failure& failure) {
  if (failure.failures > 1 || context.now < say_not_before_) return;
  say_not_before_ = context.now + kSayEvery;
  context.Say(Notice::Level::kError,
              "shard " + std::to_string(shard.value) + ": acquired failed: " + failure.error +
                  "; it is tried again here, and once on another node (" +
                  std::to_string(failures_.size()) + " of this node's shards fail)");
}

}  // namespace baton::core
