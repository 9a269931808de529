// LeadershipTable: the table that Leads() reads. The loop writes it, any thread reads it, and
// nobody waits.
//
// It has one word for each shard (the term, and whether the shard is activated) and one deadline
// for all shards. A Watchdog adds a second deadline: until then, the application counts as alive.
// If Get says that this node leads the shard, the same leadership held the shard during the whole
// call, and both deadlines were in the future at one moment of the call. The loop must clear the
// words of a lost session before it sets a new session's deadline.
//
// In a child made by fork(), all words are 0, so the child leads nothing. On a kernel that can't
// clear the words, a signal ends a child that reads the table. A child of vfork() must not read the
// table (ForkWipedWords).
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/check.h"
#include "base/clock.h"
#include "base/fork_wiped_words.h"
#include "baton/types.h"

namespace baton::runtime {

class LeadershipTable {
 public:
  /// At first no shard is led. Throws std::bad_alloc if there is no memory. REQUIRES: `clock`
  /// outlives the table.
  LeadershipTable(std::uint32_t shards, const Clock& clock)
      : shards_(shards), words_(std::size_t{shards} + 1), deadline_(words_[shards]), clock_(clock) {
    SetDeadline(TimePoint::min());
  }

  // For the loop only.
  /// Sets the leadership of a shard. Term 0: this node does not lead the shard. Each Get that
  /// begins after Set has returned gives the new answer. REQUIRES: shard < shards (checked).
  void Set(ShardId shard, Term term, bool activated) noexcept {
    BATON_CHECK(shard.value < shards_);
    words_[shard.value].store(term.value * 2 + (activated ? 1 : 0), std::memory_order_seq_cst);
  }
  /// Sets until when this node may lead. TimePoint::min(): it may not lead now (the initial value).
  void SetDeadline(TimePoint deadline) noexcept {
    deadline_.store(deadline.time_since_epoch().count(), std::memory_order_seq_cst);
  }
  /// Sets when the last confirmed renewal was sent, for metrics; Get does not use this time.
  /// TimePoint::min(): no renewal was confirmed (the initial value).
  void SetRenewed(TimePoint sent) noexcept {
    renewed_.store(sent.time_since_epoch().count(), std::memory_order_relaxed);
  }

  // For any thread.
  /// Returns the time from SetRenewed; nullopt: no renewal was confirmed.
  std::optional<TimePoint> Renewed() const noexcept {
    const TimePoint sent{Duration(renewed_.load(std::memory_order_relaxed))};
    return sent == TimePoint::min() ? std::nullopt : std::optional(sent);
  }
  /// Sets until when the application counts as alive. The initial value is TimePoint::max().
  void SetAliveUntil(TimePoint until) noexcept {
    alive_until_.store(until.time_since_epoch().count(), std::memory_order_seq_cst);
  }
  /// Does the same as SetAliveUntil, but only if `until` is later than the present value.
  void ProlongAliveUntil(TimePoint until) noexcept {
    const std::int64_t wanted = until.time_since_epoch().count();
    std::int64_t known = alive_until_.load(std::memory_order_seq_cst);
    while (known < wanted && !alive_until_.compare_exchange_weak(known, wanted)) {
    }
  }
  TimePoint AliveUntil() const noexcept {
    return TimePoint(Duration(alive_until_.load(std::memory_order_seq_cst)));
  }
  /// Returns the same as Node::Leadership. If the shard does not exist: it is not led.
  Leadership Get(ShardId shard) const noexcept {
    if (shard.value >= shards_)
      return {.shard = shard, .term = {}, .leads = false, .activated = false};
    const auto& word = words_[shard.value];
    const std::int64_t before = word.load(std::memory_order_seq_cst);
    if (before <= 1) return {.shard = shard, .term = {}, .leads = false, .activated = false};
    const bool in_time = InTime();
    const std::int64_t after = word.load(std::memory_order_seq_cst);
    const bool leads = before == after && in_time;
    return {.shard = shard,
            .term = Term{leads ? before / 2 : 0},
            .leads = leads,
            .activated = leads && before % 2 == 1};
  }
  /// Whether both deadlines are in the future.
  bool InTime() const noexcept {
    const std::int64_t deadline = deadline_.load(std::memory_order_seq_cst);
    const std::int64_t alive_until = alive_until_.load(std::memory_order_seq_cst);
    const std::int64_t now = clock_.Now().time_since_epoch().count();
    return now < deadline && now < alive_until;
  }

 private:
  const std::uint32_t shards_;
  ForkWipedWords words_;  ///< one a shard, then the deadline
  std::atomic<std::int64_t>& deadline_;
  std::atomic<std::int64_t> alive_until_{TimePoint::max().time_since_epoch().count()};
  std::atomic<std::int64_t> renewed_{TimePoint::min().time_since_epoch().count()};
  const Clock& clock_;
};

}  // namespace baton::runtime
