#include "sim/checkers.h"

#include "core/options.h"

#include <algorithm>
#include <utility>

#include "core/invariants.h"

namespace baton::sim {
namespace {

constexpr Duration kLongestRead = seconds(15);
constexpr std::size_t kMaxViolations = 20;
constexpr std::size_t kLongestQueue = 20'000;
constexpr unsigned kTurnsBetweenLooks = 16;  // at a status

// The reasons for which a dead leader's shard may be claimed.
bool SaysVacant(Reason reason) {
  return reason == Reason::kLeaseExpired || reason == Reason::kProcessDied ||
         reason == Reason::kStartup;
}

}  // namespace

Checkers::Checkers(World& world, EtcdModel& etcd, const Processes& processes,
                   CheckerOptions options)
    : world_(world),
      etcd_(etcd),
      processes_(processes),
      options_(options),
      keyspace_(etcd::kDefaultPrefix, kGroup),
      shards_(options.shards) {
  for (std::uint32_t s = 0; s < options_.shards; ++s) {
    shard_of_key_.emplace(keyspace_.ShardKey(ShardId{s}), ShardId{s});
  }
  etcd_.Observe(this);
}

void Checkers::Violation(const char* invariant, const std::string& what) {
  world_.Trace(2, static_cast<std::int64_t>(violations_.size()), 0);
  if (violations_.size() >= kMaxViolations || restoring_) return;
  const auto millis = world_.now().time_since_epoch() / milliseconds(1);
  violations_.push_back(std::string(invariant) + " at " + std::to_string(millis) + " ms: " + what);
  if (world_.verbose()) world_.Say("VIOLATION " + violations_.back());
}

Process* Checkers::Of(int origin) const {
  return origin >= 0 ? processes_[static_cast<std::size_t>(origin)].get() : nullptr;
}

bool Checkers::Alive(const NodeId& node, SessionId session) const {
  const auto found = members_.find(node);
  return found != members_.end() && found->second.HoldsSession(session);
}

// After an unknown outcome a process sends exactly the same again, whatever it learnt meanwhile.
// And of a write in several portions, the last ones may be sent for the first time long after it
// was decided.
bool Checkers::SawAlive(int origin, ShardId shard, const RecordFact& record) const {
  const auto found = seen_.find(origin);
  if (found == seen_.end()) return false;
  const Seen& seen = found->second;
  const auto last = seen.alive.find(record.leader);
  if (last == seen.alive.end() || last->second.session != record.session) return false;
  const std::optional<TimePoint> sent = FirstSent(keyspace_.ShardKey(shard), origin);
  if (sent && *sent < last->second.since) return false;
  return seen.nothing_open >= last->second.since;
}

void Checkers::NoteRecords(const Process& process, const pb::TxnRequest& request, Seen& seen) {
  for (const pb::RequestOp& operation : request.success()) {
    if (operation.has_request_txn()) NoteRecords(process, operation.request_txn(), seen);
    if (!operation.has_request_put()) continue;
    const pb::PutRequest& put = operation.request_put();
    const auto [found, first] = seen.records.try_emplace(
        put.key() + put.value(),
        SentRecord{.first = world_.now(), .acted = {}, .decided_after = seen.nothing_open});
    ++found->second.copies;
    if (first) CheckSaid(process, put);
    const auto shard = shard_of_key_.find(put.key());
    if (shard == shard_of_key_.end() || seen.shards.empty()) continue;
    found->second.acted = seen.shards[shard->second.value].acts;
  }
}

bool Checkers::DeadProcessOf(SessionId session) const {
  const auto found = session_process_.find(session);
  return found != session_process_.end() && Of(found->second)->gone();
}

// Only the fence covers these cases: etcd or an operator broke what Baton builds on.
bool Checkers::Excused(const Process& process, ShardId shard, Term term) const {
  const auto& tampers = shards_[shard.value].tampers;
  return excused_.contains(process.session()) || tampers.upper_bound(term.value) != tampers.end();
}

// ---- the store's history ----

void Checkers::Committed(std::int64_t revision, int origin) {
  ++observed_.revisions;
  world_.Trace(3, revision, origin);
  std::vector<Fact> facts;
  for (const pb::Event& event : etcd_.store().EventsOf(revision)) {
    const bool deleted = event.type() == pb::Event::DELETE;
    auto decoded = deleted ? keyspace_.DecodeAbsent(event.kv().key(), Revision{revision})
                           : keyspace_.Decode(event.kv());
    if (decoded.fact) facts.push_back(std::move(*decoded.fact));
    if (world_.verbose()) {
      world_.Say("r" + std::to_string(revision) + (deleted ? " - " : " + ") + event.kv().key() +
                 " by " + std::to_string(origin));
    }
  }
  // A revision is one set: records are judged by the moves and members before it.
  for (const Fact& fact : facts) {
    const auto* shard = std::get_if<ShardRecordFact>(&fact);
    if (shard != nullptr) CheckRecord(shard->shard, shard->record, origin);
  }
  for (const Fact& fact : facts) {
    if (const auto* member = std::get_if<MemberFact>(&fact)) {
      CheckMember(*member, origin);
    } else if (const auto* move = std::get_if<MoveFact>(&fact)) {
      CheckMove(*move, origin);
    } else if (const auto* balancer = std::get_if<BalancerFact>(&fact)) {
      balancer_ = balancer->record;
      balancer_since_ = world_.now();
    } else if (const auto* died = std::get_if<DeathFact>(&fact)) {
      if (died->present) proven_.insert(died->session);
    } else if (const auto* ripe = std::get_if<RipeFact>(&fact)) {
      if (ripe->present && origin != kByOperator) NoteRipe(*ripe);
    } else if (const auto* policy = std::get_if<PolicyFact>(&fact)) {
      CheckPolicy(*policy, origin);
    } else if (const auto* config = std::get_if<ConfigFact>(&fact)) {
      CheckConfig(*config, origin);
      NoteSettings(*config);
    }
  }
  NoteStandbys(facts);
}

// Each request to change a policy has an actor of its own.
void Checkers::CheckPolicy(const PolicyFact& after, int origin) {
  if (after.name.kind == PolicyKind::kDrain) eligible_at_ = world_.now();
  if (after.name.kind == PolicyKind::kLimits) NoteLimits(after);
  if (after.name.kind == PolicyKind::kChanged) {
    policies_changed_ = after.present ? after.revision : Revision{};
  }
  if (!after.present || origin == kByOperator || after.name.kind == PolicyKind::kChanged) return;
  const std::string put = keyspace_.PolicyKey(after.name) + " by " + after.actor;
  if (!policies_put_.insert(put).second) {
    Violation("I7", "the policy " + put + " was put twice");
  }
}

void Checkers::CheckRecord(ShardId shard, const RecordFact& after, int origin) {
  ShardHistory& seen = history(shard);
  const RecordFact before = std::exchange(seen.record, after);
  const TimePoint began = seen.led_since;
  written_before_ = std::exchange(seen.written_at, world_.now());
  if (!core::DeathBackoff::GoesOn(before.tally, after.tally)) seen.led_since = world_.now();
  const bool named = before.present && before.readability == Readability::kReadable &&
                     !before.leader.empty() && Alive(before.leader, before.session);
  // A transfer may land when its writer's session has ended.
  const auto writer = session_process_.find(before.session);
  const bool handed_over = !before.leader.empty() && before.leader != after.leader &&
                           writer != session_process_.end() && writer->second == origin;
  NoteGivenUp(shard, after, origin, named || handed_over);
  if (origin == kByOperator) {
    seen.tampers.emplace(after.revision.value, world_.now());
    NoteDamage(shard, before, after);
    CheckGround(shard);
    return;
  }
  if (!after.present) return Violation("I6", Text(shard) + "'s record was deleted");
  seen.by_term[after.term().value] = after;
  CheckPlacement(shard, before, after, origin);
  if (named) {
    CheckOwnChange(shard, before, after, origin);
    CheckProven(shard, before, began, origin);
  } else {
    CheckTaken(shard, before, after, origin);
    CheckWaited(shard, before, began, origin);
  }
  CheckGround(shard);
}

// While a session's member key lives, only that session changes a record that names it.
void Checkers::CheckOwnChange(ShardId shard, const RecordFact& before, const RecordFact& after,
                              int origin) {
  const auto owner = session_process_.find(before.session);
  if (owner == session_process_.end() || owner->second != origin) {
    return Violation("I1", Text(shard) + " was taken from the living session of " + before.leader +
                               " by process " + std::to_string(origin));
  }
  CheckGaveReleased(shard, before, after, origin);
  if (after.leader.empty()) {
    // With a lock delay a shard that was not released in time is not handed over.
    const bool unreleased = locked_once_ && after.reason == Reason::kCallbackTimeout;
    // A stop of a node that an operator drains keeps nothing for it.
    const bool drained = failed_over_otherwise_ && after.reason == Reason::kDrain;
    if (after.reason != Reason::kShutdown && !unreleased && !drained) {
      Violation("I6", Text(shard) + " was resigned for " + std::string(ToString(after.reason)));
    }
  } else if (after.session == before.session) {
    Violation("I7", Text(shard) + "'s record was written twice by one leader");
  } else {
    CheckTransfer(shard, before, after, origin);
  }
}

// No session in force led it: the writer claims it, for itself and for the right reason.
void Checkers::CheckTaken(ShardId shard, const RecordFact& before, const RecordFact& after,
                          int origin) {
  if (after.leader.empty()) {
    // A resignation or a transfer of a session that is gone changes nothing that was in force.
    return;
  }
  const auto owner = session_process_.find(after.session);
  if (owner == session_process_.end() || owner->second != origin) return;  // a late transfer
  if (!Alive(after.leader, after.session)) {
    Violation("I3", Text(shard) + " was claimed by a session of " + after.leader + " that is gone");
  }
  if (lost_.contains(after.session)) {
    Violation("I3", Text(shard) + " was claimed by a session of " + after.leader +
                        " that was lost, and whose key was put again");
  }
  // The last leader replaces a damaged record, and the owner takes its shards back, whatever fails
  // there.
  if (!ClaimedByOwner(before, after) &&
      (before.readability == Readability::kReadable || !before.present)) {
    CheckMayGet(after.leader, keyspace_.ShardKey(shard), origin);
  }
  CheckBrake(shard, origin);
  CheckFailover(shard, before, after);
  CheckReadyFirst(shard, before, after, origin);
  if (claims_) {
    claims_->push_back(FirstSent(keyspace_.ShardKey(shard), origin).value_or(world_.now()));
  }
  CheckFirstClaim(after, origin);
  if (!before.present) {
    if (after.reason != Reason::kStartup) {
      Violation("I7", Text(shard) + "'s first leader came for " + ToString(after.reason));
    }
  } else if (before.readability != Readability::kReadable) {
    CheckDamageReplaced(shard, origin);
    if (after.reason != Reason::kOperator) {
      Violation("I7", Text(shard) + "'s damaged record was replaced for " + ToString(after.reason));
    }
  } else if (before.leader.empty()) {
    if (after.reason != before.reason) {
      Violation("I7", Text(shard) + " was resigned for " + ToString(before.reason) +
                          " and claimed for " + ToString(after.reason));
    }
  } else if (after.reason == Reason::kProcessDied && !DeadProcessOf(before.session)) {
    ++observed_.false_takeovers;
    Violation("I7",
              Text(shard) + " was claimed from a session whose process, or a child of it, lives");
  } else if (!SaysVacant(after.reason) ||
             (after.reason == Reason::kStartup && SawAlive(origin, shard, before))) {
    Violation("I7", Text(shard) + " was claimed from a dead session for " + ToString(after.reason));
  }
}

void Checkers::CheckMember(const MemberFact& after, int origin) {
  members_changed_at_ = world_.now();
  MemberFact& kept = members_[after.node];
  const MemberFact before = std::exchange(kept, after);
  NoteMember(before, after);
  NoteMovable(before, after);
  NoteLabels(after);
  NoteAway(before, after);
  const bool held = before.present && before.lease.value != 0;
  const bool holds = held && after.present && after.lease == before.lease &&
                     after.create_revision == before.create_revision;
  if (origin == kByOperator) {
    if (held && !holds) excused_.insert(before.lease);
  } else if (origin == kByGuard) {
    ++observed_.proven_deaths;
    if (!DeadProcessOf(before.lease)) {
      FalselyEnded("a guard ended the session of " + after.node + "'s living process");
    }
  } else if (after.present) {
    CheckMemberPut(before, after, origin);
  }
  if (!held || holds) return;
  if (established_.contains(before.lease)) {
    lost_.insert(before.lease);
    ended_at_.try_emplace(before.lease, world_.now());
  }
  CheckNobodyLeads(before.lease);
}

void Checkers::CheckMemberPut(const MemberFact& before, const MemberFact& after, int origin) {
  if (after.lease.value == 0 || after.lease != after.session) {
    Violation("I3", after.node + "'s member key does not hang on the session it names");
  }
  // A process of today's version has no fields of a later one to say.
  const bool others = after.lease != before.lease && !after.unknown_fields.empty() &&
                      after.readability == Readability::kReadable && !Of(origin)->next_version();
  if (others) Violation("I11", after.node + " says of itself what another process had said");
  session_process_.try_emplace(after.session, origin);
  joined_at_.try_emplace(origin, world_.now());
  joined_.insert(after.node);
  const bool taken = before.present && before.lease != after.lease && before.lease.value != 0;
  observed_.proven_deaths += taken;
  if (taken && !DeadProcessOf(before.lease)) {
    FalselyEnded(after.node + "'s member key was taken over from a process that lives");
  }
}

void Checkers::LeaseEnded(std::int64_t lease, LeaseEnd how, int origin) {
  const SessionId session{lease};
  world_.Trace(4, lease, static_cast<std::int64_t>(how));
  if (world_.verbose()) {
    world_.Say("lease " + std::to_string(lease) + " ends, " +
               (how == LeaseEnd::kExpired ? "expired" : "revoked by " + std::to_string(origin)));
  }
  if (how == LeaseEnd::kRevokedLate || (how == LeaseEnd::kRevoked && origin == kByOperator)) {
    excused_.insert(session);
    return;
  }
  const auto owner = session_process_.find(session);
  if (how != LeaseEnd::kRevoked || owner == session_process_.end() || owner->second == origin) {
    return;
  }
  if (!DeadProcessOf(session)) {
    FalselyEnded("process " + std::to_string(origin) + " revoked another's living session");
  }
}

void Checkers::CheckGround(ShardId shard) {
  const RecordFact& record = history(shard).record;
  for (const auto& process : processes_) {
    if (!process->alive()) continue;
    const Leadership led = process->Get(shard);
    if (!led.leads || (record.present && led.term == record.term())) continue;
    if (Excused(*process, shard, led.term)) continue;
    Violation("I1", process->Name() + " leads " + Text(shard) + " with " + Text(led.term) +
                        ", and its record went on to revision " +
                        std::to_string(record.revision.value));
  }
}

void Checkers::CheckNobodyLeads(SessionId session) {
  if (excused_.contains(session)) return;
  for (const auto& process : processes_) {
    if (!process->alive() || process->session() != session) continue;
    for (std::uint32_t s = 0; s < options_.shards; ++s) {
      if (!process->Get(ShardId{s}).leads) continue;
      return Violation(
          "I1", process->Name() + " leads " + Text(ShardId{s}) + ", and its session has ended");
    }
  }
}

// ---- what processes show ----

void Checkers::Ran(Process& process) {
  if (process.core().session().member()) established_.insert(process.session());
  Seen& seen = seen_[process.number()];
  seen.shards.resize(options_.shards);
  NoteCame(process, seen);
  if (process.core().pending_writes() == 0) seen.nothing_open = world_.now();
  const bool knows_its_end = KnowsItsEnd(process);
  for (std::uint32_t s = 0; s < options_.shards; ++s) {
    CheckShard(process, ShardId{s}, seen.shards[s], knows_its_end);
  }
  if (process.silent() && !process.core().leaderships().held().empty()) {
    Violation("I11", process.node() + " leads, and its application gives no sign of life");
  }
  CheckDeadline(process, seen);
  CheckComplete(process, seen);
  if (++seen.turns % kTurnsBetweenLooks == 0) CheckShown(process);
  CheckCore(process);
  if (process.executor().longest() > kLongestQueue) Violation("I8", "the loop's queue is too long");
  if (ran_) ran_(process);
}

void Checkers::CheckShard(Process& process, ShardId shard, Led& seen, bool knows_its_end) {
  const Leadership now = process.Get(shard);
  const bool begins = now.leads && (!seen.leads || seen.term != now.term);
  seen.term = now.term;
  seen.leads = now.leads;
  if (process.core().leaderships().failed().Late(shard)) seen.took = Term{};
  if (now.leads && now.activated) seen.took = now.term;
  if (begins) CheckBegins(process, shard, now.term);
  if (now.leads) CheckAlone(process, shard);
  CheckKnown(process, shard, seen, knows_its_end);
  if (now.activated && process.core().options().has_listener && seen.acquired != now.term) {
    Violation("I7", process.Name() + " has " + Text(shard) + " activated with " + Text(now.term) +
                        ", and its application was not asked");
  }
}

// Reports a violation that the core finds in itself only once. The run goes on: the checkers must
// find it too.
void Checkers::CheckCore(const Process& process) {
  if (core_wrong_) return;
  const auto wrong = core::FindViolations(process.core());
  if (wrong.empty()) return;
  core_wrong_ = true;
  Violation("core", wrong.front());
}

void Checkers::CheckBegins(Process& process, ShardId shard, Term term) {
  ShardHistory& seen = history(shard);
  world_.Trace(5, shard.value, term.value);
  if (world_.verbose()) {
    world_.Say(process.Name() + " leads " + Text(shard) + " with " + Text(term));
  }
  const auto known = seen.by_term.find(term.value);
  if (known == seen.by_term.end() || known->second.leader != process.node() ||
      known->second.session != process.session()) {
    return Violation("I3", process.Name() + " leads " + Text(shard) + " with " + Text(term) +
                               ", which is not its own");
  }
  const bool excused = Excused(process, shard, term);
  const bool in_force =
      seen.record.present && seen.record.term() == term && Alive(process.node(), process.session());
  if (!in_force && !excused) {
    Violation("I1", process.Name() + " begins to lead " + Text(shard) + " with " + Text(term) +
                        ", which is not in force");
  }
  if (term.value < seen.newest_led && !excused) {
    Violation("I3", Text(shard) + " went back to " + Text(term) + " from " +
                        std::to_string(seen.newest_led));
  }
  const bool late = term.value < seen.newest_led;  // it hears of its leadership after a later one
  if (!late && !seen.led_by.contains(term.value)) NoteBegun(process, shard, known->second);
  seen.newest_led = std::max(seen.newest_led, term.value);
  seen.led_by[term.value] = process.number();
  if (late) return;
  if (!seen.last_leader.empty() && seen.last_leader != process.node()) ++observed_.leader_changes;
  seen.last_leader = process.node();
}

void Checkers::CheckAlone(Process& process, ShardId shard) {
  for (const auto& other : processes_) {
    if (other.get() == &process || !other->alive()) continue;
    const Leadership theirs = other->Get(shard);
    if (!theirs.leads) continue;
    const Term ours = process.Get(shard).term;
    if (Excused(process, shard, ours) || Excused(*other, shard, theirs.term)) {
      ShardHistory& seen = history(shard);
      if (!seen.overlap_since) {
        ++observed_.overlaps;
        seen.overlap_since = world_.now();
      }
      continue;
    }
    Violation("I1", process.Name() + " (" + Text(ours) + ") and " + other->Name() + " (" +
                        Text(theirs.term) + ") lead " + Text(shard));
  }
}

void Checkers::Reported(Process& process, const Transition& transition) {
  world_.Trace(6, transition.shard.value, transition.term.value);
  if (world_.verbose()) {
    world_.Say(process.Name() + " reports " + Text(transition.shard) + " " +
               ToString(transition.reason) + " " + transition.from + "->" + transition.to + " " +
               Text(transition.term));
  }
  const bool counted = !transition.to.empty() && transition.reason != Reason::kSuspended &&
                       transition.reason != Reason::kResumed;
  if (!counted) return;
  ShardHistory& seen = history(transition.shard);
  const auto known = seen.by_term.find(transition.term.value);
  const bool right = known != seen.by_term.end() && known->second.leader == transition.to &&
                     known->second.reason == transition.reason &&
                     known->second.previous == transition.from &&
                     known->second.cause == transition.cause && transition.to == process.node();
  if (!right) {
    Violation("I7", process.Name() + " reports a transition of " + Text(transition.shard) +
                        " that its record does not tell");
  }
  if (transition.cause.kind == CauseKind::kUnknown) {
    Violation("I7", process.Name() + " reports that " + Text(transition.shard) +
                        " went to it, and not why");
  }
  if (!seen.reported.insert(transition.term.value).second) {
    Violation("I7", Text(transition.shard) + " " + Text(transition.term) + " is reported twice");
  }
}

void Checkers::Entered(Process& process, ShardId shard, core::CallbackKind kind, Term term) {
  if (kind != core::CallbackKind::kAcquired) return;
  seen_[process.number()].shards.at(shard.value).acts = term;
  CheckPause(process, shard, term);
}

void Checkers::Called(Process& process, ShardId shard, core::CallbackKind kind, Term term) {
  world_.Trace(7, static_cast<std::int64_t>(kind), term.value);
  standbys_.Called(process, shard, kind, world_.now());
  const Leadership now = process.Get(shard);
  Seen& all = seen_[process.number()];
  Led& seen = all.shards.at(shard.value);
  if (kind == core::CallbackKind::kAcquired) {
    all.succeeded_before = std::exchange(all.succeeded_at, world_.now());
    seen.failures_before = std::exchange(seen.failures, 0);
    seen.acquired = term;
    seen.took = now.leads && now.term == term ? term : Term{};
  }
  if (kind == core::CallbackKind::kReleasing) seen.releasing = term;
  const bool stops = kind == core::CallbackKind::kReleasing || kind == core::CallbackKind::kLost;
  if (stops && seen.acts == term) seen.acts = Term{};
  if (kind == core::CallbackKind::kLost && now.leads && now.term == term) {
    Violation("I7", process.Name() + " was told that it lost " + Text(shard) + ", and leads it");
  }
}

// A node may halt only if another live node seems to use its id: so much may be wrong here that a
// lease outlives its bound.
void Checkers::Halted(Process& process, const Error& why) {
  world_.Trace(8, process.number(), 0);
  if (why.message.find("is in use by another live node") != std::string::npos) return;
  // It began while an operator's write had spoilt the config.
  const bool knew = process.core().config_incarnation().value > 0;
  // Or it had no session, and nobody could put the config back for long: etcd had no quorum. The
  // read that shows it may have begun before it was put back.
  const bool for_long = ConfigIsBadForLong() ||
                        (config_bad_until_ && world_.now() - *config_bad_until_ < kLongestRead);
  if ((!knew || for_long) && why.message.starts_with("group config: ")) return;
  Violation("I8", process.Name() + " halted: " + why.message);
}

void Checkers::Finished(Process& process, const core::Finished& finished) {
  world_.Trace(9, process.number(), finished.drained ? 1 : 0);
}

void Checkers::Wrote(Process& process, ShardId shard, Term term) {
  ShardHistory& seen = history(shard);
  if (term.value < seen.fence) {
    ++observed_.writes_fenced_off;
    return;
  }
  const auto known = seen.by_term.find(term.value);
  if (known == seen.by_term.end() || known->second.leader != process.node()) {
    Violation("I2", "the resource of " + Text(shard) + " took a write of " + process.Name() +
                        " with a token that is not its own");
  }
  ++observed_.writes_accepted;
  seen.fence = term.value;
}

void Checkers::EndOverlap(ShardId shard) {
  ShardHistory& seen = history(shard);
  const Duration length = world_.now() - *seen.overlap_since;
  observed_.longest_overlap = std::max(observed_.longest_overlap, length);
  seen.overlap_since.reset();
  if (world_.verbose()) {
    world_.Say("two led " + Text(shard) + " for " + std::to_string(length / milliseconds(1)) +
               " ms");
  }
}

void Checkers::Tick() {
  const bool anybody = std::any_of(processes_.begin(), processes_.end(), [](const auto& process) {
    return process->running() && !process->leaving() && !process->halted();
  });
  // Shards may wait for their owners, for locks, or for nodes that may lead them.
  const bool placed = std::any_of(placement_.begin(), placement_.end(), [](const auto& rule) {
    return !rule.require.empty() || !rule.prefer.empty() || rule.standbys == 0;
  });
  const bool waits = failover_ != FailoverSettings{} || placed;
  if (!anybody || !etcd_.Serving() || waits) Disturbed();
  CheckMovesGoOn();
  CheckOverlaps();
  for (std::uint32_t s = 0; s < options_.shards; ++s) {
    ShardHistory& seen = history(ShardId{s});
    int leaders = 0;
    for (const auto& process : processes_) {
      leaders += process->alive() && process->Get(ShardId{s}).leads ? 1 : 0;
    }
    if (leaders < 2 && seen.overlap_since) EndOverlap(ShardId{s});
    if (leaders > 0) {
      seen.vacant_since.reset();
      continue;
    }
    if (!seen.vacant_since) seen.vacant_since = world_.now();
    const Duration vacant = world_.now() - std::max(*seen.vacant_since, disturbed_at_);
    observed_.longest_vacancy = std::max(observed_.longest_vacancy, vacant);
    if (vacant <= options_.failover_bound + WaitIfItDies(ShardId{s})) continue;
    Violation("I5", Text(ShardId{s}) + " has no leader, and nothing was wrong for " +
                        std::to_string(vacant / milliseconds(1)) + " ms");
    seen.vacant_since = world_.now();
  }
}

}  // namespace baton::sim
