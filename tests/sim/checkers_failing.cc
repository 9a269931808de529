// The checkers' part for activations that fail: a failing node gets nothing, and a shard that fails
// is tried again after a pause, and once elsewhere.
#include <algorithm>

#include "core/may_claim.h"
#include "sim/checkers.h"

namespace baton::sim {
namespace {

// A process that is well knows by then what the members say, and that a callback of its own failed.
constexpr Duration kKnownWithin = milliseconds(1500);

// The shortest pause after so many failures in a row, by a clock that may be too fast.
Duration ShortestPause(int failures) {
  Duration pause = milliseconds(50);
  for (int i = 1; i < failures && pause < milliseconds(2500); ++i) pause *= 2;
  return std::min<Duration>(pause, milliseconds(2500)) * 24 / 25;
}

}  // namespace

void Checkers::Threw(Process& process, ShardId shard, core::CallbackKind kind, Term term) {
  Seen& all = seen_[process.number()];
  Led& seen = all.shards.at(shard.value);
  if (kind == core::CallbackKind::kReleasing) seen.acts = term;  // it did not release the shard
  if (kind != core::CallbackKind::kAcquired) return;
  all.succeeded_at = all.succeeded_before;
  seen.took = seen.acts = Term{};
  history(shard).threw.emplace(term.value, world_.now());
  seen.failures = std::exchange(seen.failed, term) == term ? seen.failures_before + 1 : 1;
  seen.failed_at = world_.now();
}

// `acquired` begins again. One that succeeds on this node ends all pauses.
void Checkers::CheckPause(const Process& process, ShardId shard, Term term) {
  const Seen& seen = seen_.at(process.number());
  const Led& led = seen.shards.at(shard.value);
  if (led.failed != term || seen.succeeded_at >= led.failed_at) return;
  const Duration pause = world_.now() - led.failed_at;
  if (pause >= ShortestPause(led.failures)) return;
  Violation("I8", process.Name() + " tries to activate " + Text(shard) + " again " +
                      std::to_string(pause / milliseconds(1)) + " ms after failure " +
                      std::to_string(led.failures));
}

// When the process first sent what is stored at the key now. A copy may arrive late.
std::optional<TimePoint> Checkers::FirstSent(const std::string& key, int origin) const {
  const SentRecord* const sent = SentBy(origin, key);
  return sent != nullptr ? std::optional(sent->first) : std::nullopt;
}

const Checkers::SentRecord* Checkers::SentBy(int origin, const std::string& key) const {
  const pb::KeyValue* stored = etcd_.store().Get(key);
  const auto seen = seen_.find(origin);
  if (stored == nullptr || seen == seen_.end()) return nullptr;
  const auto sent = seen->second.records.find(key + stored->value());
  return sent != seen->second.records.end() ? &sent->second : nullptr;
}

// Whether a process that decided at this time knew what has been so since `since`.
bool Checkers::Knew(int origin, TimePoint decided, TimePoint since) const {
  const auto unwell = unwell_at_.find(origin);
  if (unwell != unwell_at_.end()) since = std::max(since, unwell->second);
  return decided > since + kKnownWithin;
}

// Nobody plans a move to a failing node, and it claims nothing, unless the cause is common.
void Checkers::CheckNoSink(const NodeId& node, const std::string& key, int origin) {
  const auto member = members_.find(node);
  if (member == members_.end() || !member->second.failing) return;
  const std::optional<TimePoint> sent = FirstSent(key, origin);
  if (!sent || !Knew(origin, *sent, members_changed_at_)) return;
  if (!core::FailingNodes(Truth()).contains(node)) return;
  Violation("I9", key + " was given to " + node + ", where activations fail");
}

bool Checkers::SomeNodeFails() const {
  return std::any_of(members_.begin(), members_.end(),
                     [](const auto& entry) { return entry.second.Live() && entry.second.failing; });
}

// Another node's try is planned by the leader, of a shard that its application has not taken up;
// once, so the target plans none if the shard fails there, too; and not if failures are common.
void Checkers::CheckOtherTry(const MoveFact& move, int origin) {
  const RecordFact& record = history(move.shard).record;
  if (record.term() != move.ends) return;  // a late copy: the move is void
  const auto leader = session_process_.find(record.session);
  if (leader == session_process_.end() || leader->second != origin) {
    return Violation("I9", Text(move.shard) + "'s other try was planned by process " +
                               std::to_string(origin) + ", which does not lead it");
  }
  const std::string key = keyspace_.MoveKey(move.shard);
  CheckMayGet(move.to, key, origin);
  const std::optional<TimePoint> sent = FirstSent(key, origin);
  if (!sent) return;
  const auto threw = history(move.shard).threw.find(record.term().value);
  const bool failed =
      threw != history(move.shard).threw.end() && Knew(origin, *sent, threw->second);
  if (failed && record.reason == Reason::kCallbackTimeout) {
    Violation("I9", Text(move.shard) + " failed, and had its other try already");
  }
  if (Knew(origin, *sent, members_changed_at_) && core::FailuresAreCommon(Truth())) {
    Violation("I9", Text(move.shard) + " is moved for a failure that is common");
  }
}

// At rest every activation succeeds. One success ends it.
void Checkers::CheckFailingEnds() {
  for (const auto& process : processes_) {
    if (!process->alive()) continue;
    const core::Leaderships& leaderships = process->core().leaderships();
    const std::optional<TimePoint> since = leaderships.failed().failing_since();
    if (!since) continue;
    for (const auto& [shard, held] : leaderships.held()) {
      if (!held.activated || held.gained_at <= *since) continue;
      Violation("I9", process->node() + " is failing, and has activated " + Text(shard) + " since");
    }
  }
}

}  // namespace baton::sim
