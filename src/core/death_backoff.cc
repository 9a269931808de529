#include "core/death_backoff.h"

#include <algorithm>
#include <limits>

#include "core/options.h"

namespace baton::core {
namespace {

// Shards name older sessions of a living process only until it has claimed them again.
constexpr std::size_t kOutlivedRemembered = 8;
// Few: at the end of each, every node computes the assignment again.
constexpr Duration::rep kWaitSlots = 8;

}  // namespace

Duration DeathBackoff::LongestWaitAfter(std::uint32_t deaths) {
  if (deaths < kDeathsBeforeWaiting) return Duration{0};
  Duration wait = kFirstClaimWait;
  for (std::uint32_t i = kDeathsBeforeWaiting; i < deaths && wait < kMaxClaimWait; ++i) wait *= 2;
  return std::min(wait, kMaxClaimWait);
}

Duration DeathBackoff::WaitAfter(ShardId shard, std::uint32_t deaths) {
  std::uint64_t mixed = (std::uint64_t{shard.value} << 32 | deaths) * 0x9e3779b97f4a7c15ull;
  mixed = (mixed ^ (mixed >> 32)) * 0xbf58476d1ce4e5b9ull;
  const auto slot = static_cast<Duration::rep>((mixed >> 32) % kWaitSlots);
  return LongestWaitAfter(deaths) * (kWaitSlots + slot + 1) / (2 * kWaitSlots);
}

TimePoint DeathBackoff::BeganAt(const DeathTally& tally, std::optional<WallTime> snapshot,
                                TimePoint now) {
  if (!snapshot) return now;
  if (*snapshot == WallTime{} || tally.begun == WallTime{}) return TimePoint::min();
  constexpr std::chrono::seconds kOld = std::chrono::hours(1);
  const auto age = *snapshot - tally.begun;
  return age > kOld ? TimePoint::min() : now - std::max(age, std::chrono::seconds(0));
}

void DeathBackoff::NoteRecord(ShardId shard, TimePoint began, Turn turn) {
  began_.at(shard.value) = began;
  if (turn == Turn::kFirst) led_since_.at(shard.value) = began;
  Forget(shard);
}

bool DeathBackoff::GoesOn(const DeathTally& before, const DeathTally& after) {
  return after.deaths > 0 && after.begun != WallTime{} && after == before;
}

void DeathBackoff::Forget(ShardId shard) {
  const auto found = ended_.find(shard);
  if (found == ended_.end()) return;
  waits_.erase({found->second.waits_until, shard});
  ended_.erase(found);
}

// If the end was not seen, the death may be as old as the record: the leadership may have been
// short, and others may still wait, for as long as the greatest wait that can follow.
void DeathBackoff::NoteEnded(ShardId shard, const RecordFact& record, const End& end) {
  const auto known = ended_.find(shard);
  const bool same = known != ended_.end() && known->second.term == record.term();
  if (same && (known->second.certain || !end.certain)) return;
  Forget(shard);
  const SessionRef session{record.leader, record.session};
  if (std::find(outlived_.begin(), outlived_.end(), session) != outlived_.end()) return;
  const std::uint32_t before =
      end.seen_alive ? DeathsOf(shard, record, end.seen_at) : record.tally.deaths;
  const std::uint32_t deaths = std::min(before, kMaxDeathsCounted - 1) + 1;
  const Duration wait = WaitAfter(shard, deaths);
  const Duration counts = end.seen_alive ? kShortLeadership : kShortLeadership + wait;
  if (began_.at(shard.value) <= end.seen_at - counts) return;
  const bool waits = wait > Duration{0};
  TimePoint until = waits ? end.seen_at + wait : TimePoint::min();
  if (waits && !end.certain) until = TimePoint::max();
  ended_[shard] = {.term = record.term(),
                   .session = session,
                   .deaths = deaths,
                   .waits_until = until,
                   .certain = end.certain};
  if (waits) waits_.emplace(until, shard);
}

bool DeathBackoff::Uncertain(ShardId shard) const {
  const auto ended = ended_.find(shard);
  return ended != ended_.end() && !ended->second.certain;
}

void DeathBackoff::NoteOutlived(const SessionRef& session) {
  if (outlived_.size() == kOutlivedRemembered) outlived_.erase(outlived_.begin());
  outlived_.push_back(session);
  for (auto next = ended_.begin(); next != ended_.end();) {
    const auto& [shard, ended] = *next++;
    if (ended.session == session) Forget(shard);
  }
}

DeathTally DeathBackoff::Next(ShardId shard, const RecordFact& record, TimePoint now,
                              WallTime wall) const {
  const bool died = ended_.contains(shard);
  const std::uint32_t deaths = DeathsOf(shard, record, now);
  const bool goes_on = deaths > 0 && !died && record.tally.begun != WallTime{};
  return {.deaths = deaths, .begun = goes_on ? record.tally.begun : wall};
}

std::uint32_t DeathBackoff::DeathsOf(ShardId shard, const RecordFact& record, TimePoint now) const {
  const auto ended = ended_.find(shard);
  if (ended != ended_.end()) return ended->second.deaths;
  return now < LongFrom(shard) ? record.tally.deaths : 0;
}

TimePoint DeathBackoff::LongFrom(ShardId shard) const {
  const TimePoint since = led_since_.at(shard.value);
  return since == TimePoint::min() ? since : since + kShortLeadership;
}

TimePoint DeathBackoff::WaitsUntil(ShardId shard) const {
  const auto ended = ended_.find(shard);
  return ended != ended_.end() ? ended->second.waits_until : TimePoint::min();
}

std::size_t DeathBackoff::Waiting(TimePoint now) const {
  std::size_t waiting = 0;
  for (auto last = waits_.rbegin(); last != waits_.rend() && last->first > now; ++last) ++waiting;
  return waiting;
}

TimePoint DeathBackoff::NextEnd(TimePoint now) const {
  const ShardId last{std::numeric_limits<std::uint32_t>::max()};
  const auto next = waits_.upper_bound({now, last});
  return next != waits_.end() ? next->first : TimePoint::max();
}

}  // namespace baton::core
