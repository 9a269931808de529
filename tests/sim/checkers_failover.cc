// The checkers' part for the group's failover settings: I12.
//
// A claim compares the config, so what counts is the config at the moment of its commit. With
// owner: the leader that the record before names, or, if it was resigned in order to stop, who
// resigned.
//
//  - Every claim writes the state directory of its node into the record.
//  - `never`: only the owner claims, with the state directory that the record names. Only the last
//    leader, in its living session, replaces a damaged record.
//  - `after` D: nobody else claims before D after the owner's absence began, in which the shard
//    lost its leader. A return ends an absence only if it lasts for D: an owner that comes and goes
//    loses its shards, too, and also those that it does not take back. If the owner was not away, D
//    counts from its resignation. A mark `ripe/<owner>` allows the claims of the vacancies that it
//    was written for, and of no shard that was led then; it is judged when it is committed, by the
//    shortest delay of any config so far.
//  - Lock delay L: nobody claims before L after the end of the session that the record names,
//    unless that is proven (`died`, or a takeover of the member key), nor before L after the commit
//    of a record without a leader that does not say `released`.
//
//    A resignation says `released`, and a handoff under a lock delay is made, only if the
//    application has released the shard.
//
// A deleted record may be claimed by anybody: an operator did that.
#include <algorithm>

#include "sim/checkers.h"

namespace baton::sim {
namespace {

// Clocks' rates differ by less than a twentieth.
constexpr Duration AtLeastOf(Duration length) { return length * 19 / 20; }
constexpr Duration SurelyOver(Duration length) { return length * 21 / 20; }

std::string Millis(Duration length) { return std::to_string(length / milliseconds(1)) + " ms"; }

}  // namespace

void Checkers::NoteFailover(const FailoverSettings& after) {
  failover_ = after;
  locked_once_ = locked_once_ || failover_.lock_delay > Duration{0};
  if (failover_.policy != FailoverPolicy::kImmediate) failed_over_otherwise_ = true;
  if (failover_.policy != FailoverPolicy::kAfter) return;
  longest_delay_ = std::max<Duration>(longest_delay_, failover_.delay);
  shortest_delay_ = std::min<Duration>(shortest_delay_, failover_.delay);
}

// Some process may have judged the stay by any delay so far.
void Checkers::NoteAway(const MemberFact& before, const MemberFact& after) {
  const bool changed = before.lease != after.lease;
  const bool ended = before.present && (!after.present || changed);
  const bool began = after.present && (!before.present || changed);
  std::vector<Away>& away = away_[after.node];
  if (ended) {
    const bool goes_on = !away.empty() && away.back().back &&
                         world_.now() - *away.back().back < SurelyOver(longest_delay_);
    const TimePoint from = goes_on ? away.back().counts_from : world_.now();
    away.push_back({.began = world_.now(), .counts_from = from, .back = std::nullopt});
  }
  if (began && !away.empty()) away.back().back = world_.now();
  const bool taken_over = ended && after.present && after.lease.value != 0 &&
                          before.create_revision == after.create_revision;
  if (taken_over) proven_.insert(before.lease);
}

const NodeId& Checkers::OwnerOf(const RecordFact& record) const {
  static const NodeId kNone;
  if (!record.present || record.readability != Readability::kReadable) return kNone;
  if (!record.leader.empty()) return record.leader;
  return record.reason == Reason::kShutdown ? record.resigned_by : kNone;
}

bool Checkers::ClaimedByOwner(const RecordFact& before, const RecordFact& after) const {
  return failover_.policy != FailoverPolicy::kImmediate && OwnerOf(before) == after.leader;
}

// Since when a vacancy is kept for its owner, at the earliest: since the absence began that the
// owner's delay counts from. What the owner did not take back when it returned, it may lose D
// later, so no later return counts.
TimePoint Checkers::KeptSince(const RecordFact& record, TimePoint written) const {
  const auto ended = ended_at_.find(record.session);
  const bool led = !record.leader.empty() && ended != ended_at_.end();
  const TimePoint vacant = led ? std::max(written, ended->second) : written;
  const auto found = away_.find(OwnerOf(record));
  if (found == away_.end()) return vacant;
  const auto& absences = found->second;
  const auto next = std::find_if(absences.begin(), absences.end(),
                                 [&](const Away& away) { return away.began > vacant; });
  if (next == absences.begin()) return vacant;
  const Away& last = *std::prev(next);
  const bool here = last.back && *last.back <= vacant;
  const bool stayed = here && vacant - *last.back >= SurelyOver(longest_delay_);
  return stayed ? vacant : last.counts_from;
}

// For each vacancy that the mark lets everybody claim from now on.
void Checkers::NoteRipe(const RipeFact& mark) {
  for (std::uint32_t s = 0; s < options_.shards; ++s) {
    ShardHistory& seen = shards_[s];
    const RecordFact& record = seen.record;
    if (OwnerOf(record) != mark.node || record.revision > mark.up_to) continue;
    if (!record.leader.empty() && Alive(record.leader, record.session)) continue;
    if (seen.ripe == record.revision) continue;
    seen.ripe = record.revision;
    const TimePoint since = KeptSince(record, seen.written_at);
    if (world_.now() - since >= AtLeastOf(shortest_delay_)) continue;
    Violation("I12", Text(ShardId{s}) + " was said to be ripe, and its owner " + mark.node +
                         " is away for " + Millis(world_.now() - since));
  }
}

void Checkers::CheckFailover(ShardId shard, const RecordFact& before, const RecordFact& after) {
  const MemberFact& member = members_[after.leader];
  const bool readable = member.present && member.readability == Readability::kReadable;
  if (readable && member.directory != after.directory) {
    Violation("I12", Text(shard) + "'s record does not name the state directory of its leader " +
                         after.leader);
  }
  if (!before.present) return;
  if (failover_.policy == FailoverPolicy::kNever) CheckOwner(shard, before, after);
  if (before.readability != Readability::kReadable) return;
  if (failover_.policy == FailoverPolicy::kAfter) CheckAfter(shard, before, after);
  if (failover_.lock_delay > Duration{0}) CheckLocked(shard, before, after);
}

void Checkers::CheckOwner(ShardId shard, const RecordFact& before, const RecordFact& after) {
  const std::string foreign = Foreign(shard, before, after);
  if (foreign.empty()) return;
  ++observed_.takeovers;
  Violation("I12", foreign);
}

// Why nobody may claim the shard like this, although it was not released; empty: it may be.
std::string Checkers::Foreign(ShardId shard, const RecordFact& before,
                              const RecordFact& after) const {
  if (before.readability != Readability::kReadable) {
    const std::optional<SessionRef>& last = shards_[shard.value].last_readable;
    if (last && last->session == after.session) return {};
    return Text(shard) + "'s damaged record was replaced by " + after.leader +
           ", and only its last leader may do that";
  }
  const NodeId& owner = OwnerOf(before);
  if (owner.empty()) return {};
  if (owner != after.leader) {
    return Text(shard) + " of " + owner + " was claimed by " + after.leader +
           ", and nobody else ever may";
  }
  if (before.directory != 0 && before.directory == after.directory) return {};
  return Text(shard) + " was claimed by " + owner + " with another state directory";
}

std::size_t Checkers::LeadsOf(const Process& process) const {
  std::size_t leads = 0;
  for (std::uint32_t s = 0; s < options_.shards; ++s) leads += process.Get(ShardId{s}).leads;
  return leads;
}

void Checkers::NoteCrash(const Process& process) {
  const std::size_t leads = LeadsOf(process);
  if (leads == 0 || failover_.policy != FailoverPolicy::kNever) return;
  ++observed_.crashes;
  observed_.crashed_leaderships += leads;
}

void Checkers::CheckAfter(ShardId shard, const RecordFact& before, const RecordFact& after) {
  const NodeId& owner = OwnerOf(before);
  if (owner.empty() || owner == after.leader) return;
  if (history(shard).ripe == before.revision) return;
  const Duration away = world_.now() - KeptSince(before, written_before_);
  if (away >= AtLeastOf(failover_.delay)) return;
  Violation("I12", Text(shard) + " of " + owner + ", which is away for " + Millis(away) +
                       ", was claimed by " + after.leader + ", and the delay is " +
                       Millis(failover_.delay));
}

// The leader itself wrote that nobody leads, or that another node does. What counts is what its
// application did when that was sent.
void Checkers::CheckGaveReleased(ShardId shard, const RecordFact& before, const RecordFact& after,
                                 int origin) {
  const SentRecord* const sent = SentBy(origin, keyspace_.ShardKey(shard));
  if (sent == nullptr || sent->acted != before.term()) return;
  if (after.leader.empty() && after.released) {
    Violation("I12", Text(shard) +
                         "'s record says that its application has released it, and that still "
                         "acted on it");
  }
  if (after.leader.empty() || failover_.lock_delay == Duration{0}) return;
  Violation("I12", Text(shard) + " of " + before.leader + " was handed to " + after.leader +
                       ", and its application still acted on it");
}

// A node's state directory proves to it that its own process before has ended.
void Checkers::CheckLocked(ShardId shard, const RecordFact& before, const RecordFact& after) {
  TimePoint since = written_before_;
  if (before.leader.empty()) {
    if (before.released) return;
  } else {
    if (proven_.contains(before.session)) return;
    const bool back = after.directory != 0 && after.directory == before.directory;
    if (back && DeadProcessOf(before.session)) return;
    const auto ended = ended_at_.find(before.session);
    if (ended == ended_at_.end()) return;  // its own process never knew it to be its session
    since = ended->second;
  }
  const Duration waited = world_.now() - since;
  if (waited >= AtLeastOf(failover_.lock_delay)) return;
  Violation("I12", Text(shard) + " was claimed after " + Millis(waited) + ", and is locked for " +
                       Millis(failover_.lock_delay));
}

}  // namespace baton::sim
