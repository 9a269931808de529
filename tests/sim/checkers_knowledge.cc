// The checkers' part for what a process knows and what it concludes from it. Its view never has
// less than etcd told the process. It leads nothing that it knows to be over, and does not lead
// beyond its lease's end.
#include <algorithm>

#include "core/assignment_of_view.h"
#include "runtime/status_assignment.h"
#include "sim/checkers.h"

namespace baton::sim {
namespace {

// A process that reads the group hears of its members by then.
constexpr Duration kHeardWithin = milliseconds(1500);

}  // namespace

// A session is lost for ever if its member key was once seen deleted or put again.
bool Checkers::KnowsItsEnd(const Process& process) const {
  const core::Session& session = process.core().session();
  if (!session.member()) return true;
  const SessionGuard guard = session.guard();
  const MemberFact* own = process.core().view().member(process.node());
  if (own == nullptr || own->revision < guard.create_revision) return false;
  return !own->HoldsSession(guard.session) || own->create_revision != guard.create_revision;
}

void Checkers::CheckKnown(const Process& process, ShardId shard, Led& seen, bool knows_its_end) {
  const Revision known = process.core().view().record(shard).revision;
  if (known < seen.known) {
    Violation("I4", process.Name() + "'s view of " + Text(shard) + " went back from " +
                        Text(seen.known) + " to " + Text(known));
  }
  seen.known = known;
  if (!seen.leads) return;
  if (knows_its_end) {
    Violation("I1",
              process.Name() + " leads " + Text(shard) + " and knows that its session is over");
  } else if (known.value != seen.term.value) {
    Violation("I1", process.Name() + " leads " + Text(shard) + " with term " +
                        std::to_string(seen.term.value) + " and knows its record of " +
                        Text(known));
  }
}

// Even if the process can't renew from now on, its lease still lives at its deadline.
void Checkers::CheckDeadline(const Process& process, Seen& seen) {
  const TimePoint deadline = process.core().session().deadline();
  if (deadline == seen.deadline) return;
  seen.deadline = deadline;
  const TimePoint now = process.host().clock().Now();
  const SessionId session = process.session();
  if (deadline <= now || excused_.contains(session) || etcd_.leader() < 0) return;
  const TimePoint ends = etcd_.LeaseEnds(session.value);
  const TimePoint leads_until = world_.now() + process.host().TrueDuration(deadline - now);
  if (leads_until <= ends) return;
  Violation("I1", process.Name() + " may lead for " +
                      std::to_string((leads_until - ends) / milliseconds(1)) +
                      " ms beyond its lease's end");
}

// A view knows all changes up to the revision that it names, and up to the one that its watch is
// said to have delivered, if etcd told of them. What 3.4.23 answers about a watch that is behind is
// found out, unless the member was frozen between two answers.
void Checkers::CheckComplete(const Process& process, Seen& seen) {
  const core::View& view = process.core().view();
  const bool frozen = world_.faults()[static_cast<std::size_t>(Fault::kMemberFrozen)] > 0;
  const bool believed = frozen && !etcd_.ProgressIsProof();
  const Revision delivered = believed ? Revision{} : process.core().watch_proven();
  const Revision complete = std::max(view.revision(), delivered);
  if (complete == seen.complete) return;
  seen.complete = complete;
  if (world_.verbose()) world_.Say(process.Name() + "'s view is of " + Text(complete));
  CheckVoidMoves(process);
  if (world_.faults()[static_cast<std::size_t>(Fault::kDeletionLost)] > 0) return;
  const auto misses = [&](const std::string& what) {
    Violation("I4", process.Name() + "'s view is of " + Text(complete) + " and misses " + what);
  };
  for (std::uint32_t s = 0; s < options_.shards; ++s) {
    const Revision stored = shards_[s].record.revision;
    if (stored <= complete && view.record(ShardId{s}).revision < stored) {
      misses("the record of " + Text(ShardId{s}));
    }
  }
  for (const auto& [shard, move] : moves_) {
    if (move.changed > complete) continue;
    const bool older = view.move_revision(shard) < move.changed;
    const bool revived = view.move_revision(shard) == move.changed &&
                         (view.move(shard) != nullptr) != move.fact.present;
    if (older || revived) misses("the move of " + Text(shard));
  }
  for (const auto& [node, stored] : members_) {
    if (stored.revision > complete) continue;
    Known& alive = seen.alive[node];
    if (stored.present && alive.session != stored.lease) alive = {stored.lease, world_.now()};
    const MemberFact* known = view.member(node);
    const bool present = known != nullptr && known->present;
    const bool newer = known != nullptr && known->revision > stored.revision;
    if (newer) continue;
    if (present != stored.present || (present && known->revision != stored.revision)) {
      misses("the member key of " + node);
    }
  }
}

// When shards are divided, a move whose leadership is over counts for no member.
void Checkers::CheckVoidMoves(const Process& process) {
  const core::View& view = process.core().view();
  const auto over = [&](const auto& entry) {
    return entry.second.ends != view.record(entry.first).term();
  };
  if (std::none_of(view.moves().begin(), view.moves().end(), over)) return;
  const core::AssignmentOfView assignment =
      core::AssignmentFrom(view, options_.settle, process.host().clock().Now());
  for (std::size_t i = 0; i < assignment.shard_of.size(); ++i) {
    if (assignment.input.shards[i].moving_to == core::kNobody) continue;
    const ShardId shard = assignment.shard_of[i];
    if (!over(std::pair{shard, *view.move(shard)})) continue;
    Violation("I9", process.Name() + " counts a void move of " + Text(shard));
  }
}

// A status reads of the assignment only what has changed since the last one.
void Checkers::CheckShown(Process& process) {
  const core::View& view = process.core().view();
  runtime::GroupFollower& follower = process.engine().follower();
  if (!view.complete() || follower.halted()) return;
  follower.ForgetStatus();
  const auto status = follower.Status();
  const core::AssignmentOfView shown = status->assignment->Whole();
  const core::AssignmentOfView anew =
      core::AssignmentFrom(view, process.core().options().settle, process.host().clock().Now());
  const auto differ = [&](const char* what) {
    Violation("I4", process.Name() + "'s status shows other " + what + " than its view has");
  };
  if (shown.input.members != anew.input.members) differ("members");
  if (shown.input.pools != anew.input.pools) differ("pools");
  if (shown.shard_of != anew.shard_of) differ("shards that take part");
  if (shown.input.shards != anew.input.shards) differ("leaders, waits or moves");
  if (shown.movable != anew.movable) differ("movable shards");
}

// The last renewal that was confirmed began before the end.
Duration Checkers::LeadsOnAtMost(const Process& process) const {
  return process.host().TrueDuration(options_.ttl - core::Margin(options_.ttl));
}

// After a lease or member key was lost, however early, no renewal is confirmed any more, so leading
// ends with the deadline.
void Checkers::CheckEndsEarly(const Process& process) {
  const auto ended = ended_at_.find(process.session());
  if (ended == ended_at_.end()) return;
  if (world_.now() <= ended->second + LeadsOnAtMost(process)) return;
  for (std::uint32_t s = 0; s < options_.shards; ++s) {
    if (!process.Get(ShardId{s}).leads) continue;
    return Violation("I1", process.Name() + " leads " + Text(ShardId{s}) +
                               " though its session ended more than a TTL ago");
  }
}

// After a change of a shard's record, its leader leads until the deadline that was confirmed
// before. A later confirmation has a later revision, which is a floor for the watch: a watch that
// stands still below it is opened elsewhere, and perhaps there again.
void Checkers::CheckUnaware(const Process& process, ShardId shard) {
  const Leadership led = process.Get(shard);
  if (!led.leads) return;
  const auto& tampers = shards_[shard.value].tampers;
  const auto first = tampers.upper_bound(led.term.value);
  if (first == tampers.end()) return;
  Led& seen = seen_[process.number()].shards.at(shard.value);
  const std::string wrong = UnawareTooLong(process, seen, first->first, first->second);
  if (wrong.empty()) return;
  Violation("I1", process.Name() + " leads " + Text(shard) + wrong + " an operator's change of it");
}

std::string Checkers::UnawareTooLong(const Process& process, Led& seen, std::int64_t change,
                                     TimePoint at) {
  if (seen.change != change) seen.told_at.reset();
  seen.change = change;
  if (process.core().session().confirmed_revision().value < change) {
    const bool deadline_of_before = world_.now() <= at + LeadsOnAtMost(process);
    return deadline_of_before ? "" : " by a deadline confirmed before";
  }
  // The next full read finds what etcd never told of.
  if (world_.faults()[static_cast<std::size_t>(Fault::kDeletionLost)] > 0) return "";
  if (!seen.told_at) seen.told_at = world_.now();
  const Duration unaware = world_.now() - *seen.told_at;
  observed_.longest_unaware = std::max(observed_.longest_unaware, unaware);
  return "";  // measured: nothing but a working network bounds how late its watch is
}

// A process that leads on after its session's early end does so for a bounded time. A process that
// has not heard of an operator's change of a record leads on until it hears of it.
void Checkers::CheckOverlaps() {
  for (const auto& process : processes_) {
    if (!process->alive()) continue;
    CheckEndsEarly(*process);
    for (std::uint32_t s = 0; s < options_.shards; ++s) {
      if (!shards_[s].tampers.empty()) CheckUnaware(*process, ShardId{s});
    }
  }
  for (std::uint32_t s = 0; s < options_.shards; ++s) {
    const auto& since = shards_[s].overlap_since;
    if (!since || world_.now() <= std::max(*since, disturbed_at_) + options_.failover_bound)
      continue;
    Violation("I1", "two lead " + Text(ShardId{s}) + ", and nothing was wrong for long");
  }
}

// Members put a missing config back. A process that never knew it makes none beside members that it
// sees.
void Checkers::CheckConfig(const ConfigFact& after, int origin) {
  const Process* const process = after.present ? Of(origin) : nullptr;
  if (process == nullptr || !process->alive()) return;
  if (process->core().config_incarnation().value > 0) return;
  const std::optional<TimePoint> sent = FirstSent(keyspace_.ConfigKey(), origin);
  if (!sent || *sent < members_changed_at_ + kHeardWithin) return;
  for (const auto& [node, seen] : process->core().view().members()) {
    const auto member = members_.find(node);
    const bool lives = member != members_.end() && member->second.present &&
                       member->second.lease.value != 0 && member->second.session == seen.session;
    if (node == process->node() || !lives) continue;
    return Violation("I8", process->node() + " made a config, though " + node + " is a member");
  }
}

}  // namespace baton::sim
