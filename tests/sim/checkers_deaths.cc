// The checkers' part for shards whose leaders died soon, several times in a row: I10.
#include <algorithm>
#include <optional>

#include "core/options.h"
#include "sim/checkers.h"

namespace baton::sim {
namespace {

// Clocks' rates differ by less, and nobody is held to the last moment.
constexpr Duration Nearly(Duration length) { return length * 9 / 10; }

}  // namespace

Duration Checkers::WaitIfItDies(ShardId shard) const {
  const RecordFact& record = shards_.at(shard.value).record;
  if (!record.present || record.leader.empty()) return Duration{0};
  return core::DeathBackoff::LongestWaitAfter(record.tally.deaths + 1);
}

Duration Checkers::LongestWaitIfOneDies() const {
  Duration longest{0};
  for (std::uint32_t s = 0; s < options_.shards; ++s) {
    longest = std::max(longest, WaitIfItDies(ShardId{s}));
  }
  return longest;
}

bool Checkers::SomeShardWaits() const {
  return std::any_of(processes_.begin(), processes_.end(), [](const auto& process) {
    const TimePoint now = process->host().clock().Now();
    return process->alive() && process->core().view().deaths().Waiting(now) > 0;
  });
}

// For each shard that nobody leads.
bool Checkers::AgreeOnDeaths() const {
  for (std::uint32_t s = 0; s < options_.shards; ++s) {
    const ShardId shard{s};
    std::optional<std::uint32_t> judged;
    for (const auto& process : processes_) {
      if (!process->alive()) continue;
      const TimePoint now = process->host().clock().Now();
      const core::View& view = process->core().view();
      if (!view.complete() || view.InForce(shard)) continue;
      const core::DeathBackoff& deaths = view.deaths();
      const bool waits = deaths.WaitsUntil(shard) > TimePoint::min();
      const std::uint32_t count = waits ? deaths.DeathsOf(shard, view.record(shard), now) : 0;
      if (judged.value_or(count) != count) return false;
      judged = count;
    }
  }
  return true;
}

// A shard was claimed whose record named an ended session. `began`: since when leaders in turn led
// it. The claimer measured how long that lasted with its own clock, or by the record's stamp
// and its wall clock. If both say that it was short, it must count, and wait.
void Checkers::CheckWaited(ShardId shard, const RecordFact& before, TimePoint began, int origin) {
  agreed_on_deaths_ = agreed_on_deaths_ && AgreeOnDeaths();
  const RecordFact& after = history(shard).record;
  const Process* const claimer = Of(origin);
  if (claimer == nullptr || !before.present || before.readability != Readability::kReadable) return;
  if (before.leader.empty() || after.leader.empty()) return;
  const auto owner = session_process_.find(before.session);
  const auto taker = session_process_.find(after.session);
  const auto ended = ended_at_.find(before.session);
  if (owner == session_process_.end() || ended == ended_at_.end()) return;
  if (owner->second == origin) return;  // it outlived its session
  if (taker == session_process_.end() || taker->second != origin) return;  // a late transfer
  if (!history(shard).tampers.empty()) return;
  const TimePoint at = FirstSent(keyspace_.ShardKey(shard), origin).value_or(world_.now());
  if (at < ended->second) return;  // a copy of a claim that was decided before the session's end
  const bool brief = at - began < Nearly(core::kShortLeadership);
  const auto age = claimer->host().clock().WallNow() - before.tally.begun;
  if (!brief || before.tally.begun == WallTime{} || age > Nearly(core::kShortLeadership)) return;
  const std::uint32_t deaths = before.tally.deaths + 1;
  const std::string which = "shard " + std::to_string(shard.value);
  if (after.tally.deaths < deaths) {
    return Violation("I10", which + " lost " + std::to_string(deaths) +
                                " leaders soon, and its record says " +
                                std::to_string(after.tally.deaths));
  }
  const Duration waited = at - ended->second;
  if (waited >= Nearly(core::DeathBackoff::WaitAfter(shard, deaths))) return;
  Violation("I10", which + " was claimed after " + std::to_string(waited / milliseconds(1)) +
                       " ms, though it lost " + std::to_string(deaths) + " leaders soon");
}

// The leader gave the shard away, in order. Once leaders in turn have led it for long, the deaths
// before them no longer count. A process may have heard late of the first of these leaders.
void Checkers::CheckProven(ShardId shard, const RecordFact& before, TimePoint began, int origin) {
  const RecordFact& after = history(shard).record;
  const Process* const giver = Of(origin);
  const std::optional<TimePoint> sent = FirstSent(keyspace_.ShardKey(shard), origin);
  if (giver == nullptr || !sent || after.tally.deaths == 0) return;
  constexpr Duration kLong = core::kShortLeadership * 3 / 2;
  const auto age = giver->host().clock().WallNow() - before.tally.begun;
  const auto unwell = unwell_at_.find(origin);
  const TimePoint heard = unwell == unwell_at_.end() ? began : std::max(began, unwell->second);
  if (*sent - heard < kLong || before.tally.begun == WallTime{} || age < kLong) return;
  Violation("I10", "shard " + std::to_string(shard.value) + " was led in turn for long, and " +
                       std::to_string(after.tally.deaths) + " deaths before still count");
}

}  // namespace baton::sim
