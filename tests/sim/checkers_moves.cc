// The checkers' part for single writes: moves and handoffs, first claims, damaged records.
#include <algorithm>

#include "sim/checkers.h"

namespace baton::sim {
namespace {

// A process's clock is too fast by less than this (a quarter of a twentieth).
Duration AtLeast(Duration by_its_clock) { return by_its_clock * 24 / 25; }

bool PlannedByBalancer(const MoveFact& move) {
  return move.phase == MovePhase::kPlanned && move.reason != Reason::kOperator &&
         move.reason != Reason::kCallbackTimeout;
}

// A shard that fails on its leader.
bool PlannedByLeader(const MoveFact& move) {
  return move.phase == MovePhase::kPlanned && move.reason == Reason::kCallbackTimeout;
}

}  // namespace

const MoveFact* Checkers::MoveOf(ShardId shard) const {
  const auto found = moves_.find(shard);
  return found != moves_.end() && found->second.fact.present ? &found->second.fact : nullptr;
}

// ---- moves and handoffs ----

// Only one balancer plans; a target says "prepared" of the very move that was planned.
void Checkers::CheckMove(const MoveFact& after, int origin) {
  Move& kept = moves_[after.shard];
  const MoveFact before = std::exchange(kept.fact, after);
  kept.changed = after.revision;
  const bool goes_on = after.ends != before.ends || after.phase != before.phase ||
                       after.to != before.to || after.present != before.present;
  if (goes_on) kept.since = world_.now();
  if (!after.present) kept.void_since.reset();  // the next move of the shard is another one
  if (world_.verbose() && after.present) {
    world_.Say("move of " + Text(after.shard) + " " + ToString(after.phase) + " " + after.from +
               "->" + after.to + ", ends term " + std::to_string(after.ends.value));
  }
  if (after.present && after.phase == MovePhase::kPlanned) NotePlan(kept, origin);
  if (!after.present || origin == kByOperator) return;
  if (after.phase == MovePhase::kPrepared) {
    if (std::exchange(kept.prepared, after.ends) != after.ends) kept.prepared_at = world_.now();
    const bool planned = before.present && before.phase != MovePhase::kVoid &&
                         before.ends == after.ends && before.to == after.to;
    if (!planned) Violation("I6", Text(after.shard) + "'s move was prepared, and not planned");
  } else if (PlannedByLeader(after)) {
    CheckPlanner(after, origin);
    CheckLimit(kept);
    CheckOtherTry(after, origin);
  } else if (PlannedByBalancer(after)) {
    const auto planner = session_process_.find(balancer_.session);
    const bool elected = balancer_.present && !balancer_.leader.empty() &&
                         planner != session_process_.end() && planner->second == origin;
    if (!elected) {
      Violation("I9", Text(after.shard) + "'s move was planned by process " +
                          std::to_string(origin) + ", which is not the balancer");
    }
    CheckPlanner(after, origin);
    CheckLimit(kept);
    CheckMayGet(after.to, keyspace_.MoveKey(after.shard), origin);
  }
}

// The planner knew all policies when it made the plan: a copy that is late brings back no move that
// an operator cancelled.
void Checkers::CheckPlanner(const MoveFact& planned, int origin) {
  const Process* const planner = Of(origin);
  if (planner == nullptr || !planner->alive()) return;
  if (planner->core().view().policies_changed() >= policies_changed_) return;
  Violation("I7", Text(planned.shard) + "'s move was planned by process " + std::to_string(origin) +
                      ", which did not know the last change of a policy");
}

void Checkers::CheckTransfer(ShardId shard, const RecordFact& before, const RecordFact& after,
                             int origin) {
  ++observed_.handoffs;
  const MoveFact* move = MoveOf(shard);
  const bool prepared = move != nullptr && move->phase == MovePhase::kPrepared &&
                        move->ends == before.term() && move->to == after.leader &&
                        move->prepared_session == after.session;
  if (!prepared) {
    Violation("I6", Text(shard) + " was handed to " + after.leader + ", who had not prepared it");
  } else if (move->reason != after.reason) {
    Violation("I7", Text(shard) + " was handed over for another reason than its move's");
  } else {
    CheckReleased(shard, before, origin);
  }
  if (!Alive(after.leader, after.session)) {
    Violation("I6", Text(shard) + " was handed to a session of " + after.leader + " that is gone");
  }
  if (etcd_.store().Get(keyspace_.MoveKey(shard)) != nullptr) {
    Violation("I6", Text(shard) + " was handed over, and its move is still there");
  }
}

// The application was asked to release the shard, or gave no answer within its bound, or never took
// the shard up.
void Checkers::CheckReleased(ShardId shard, const RecordFact& before, int origin) {
  const Process& process = *Of(origin);
  if (!process.alive() || !process.core().options().has_listener) return;
  const TimePoint bound = moves_.at(shard).prepared_at + AtLeast(options_.release_timeout);
  if (world_.now() >= bound) return;
  // It is moved because it fails there, and its late `acquired` has returned only since.
  if (moves_.at(shard).fact.reason == Reason::kCallbackTimeout) return;
  const Led& seen = seen_.at(origin).shards.at(shard.value);
  if (seen.took == before.term() && seen.releasing != before.term()) {
    Violation("I6",
              Text(shard) + " was handed over before its application was asked to release it");
  }
}

// ---- claims ----

// Cold start: the first process to claim has waited for the others, so that they share from the
// start.
void Checkers::CheckFirstClaim(const RecordFact& after, int origin) {
  if (std::exchange(claimed_, true)) return;
  // A process that counts the others may count one that has gone a moment ago.
  const bool all_here = options_.expect_nodes > 1 && joined_.size() >= options_.expect_nodes;
  const auto joined = joined_at_.find(origin);
  if (all_here || joined == joined_at_.end()) return;
  if (world_.now() >= joined->second + AtLeast(options_.settle)) return;
  Violation("I9", after.leader + " claims before the membership can have settled");
}

void Checkers::NoteDamage(ShardId shard, const RecordFact& before, const RecordFact& after) {
  const bool damaged = after.present && after.readability != Readability::kReadable;
  const bool was_readable = !before.present || before.readability == Readability::kReadable;
  if (!damaged || !was_readable) return;
  ShardHistory& seen = history(shard);
  seen.damaged_at = world_.now();
  seen.last_readable.reset();
  if (before.present && !before.leader.empty()) {
    seen.last_readable = SessionRef{before.leader, before.session};
  }
}

// The last leader may replace a damaged record. Others may do so once that leader's session is
// dead, or once every session of that time must be dead.
void Checkers::CheckDamageReplaced(ShardId shard, int origin) {
  const ShardHistory& seen = history(shard);
  if (!seen.last_readable || !Alive(seen.last_readable->node, seen.last_readable->session)) return;
  const auto owner = session_process_.find(seen.last_readable->session);
  if (owner != session_process_.end() && owner->second == origin) return;
  const Duration unknown = std::max<Duration>(options_.ttl, seconds(10)) + options_.settle;
  if (world_.now() >= seen.damaged_at + AtLeast(unknown)) return;
  Violation("I1", Text(shard) + "'s damaged record was replaced while its leader " +
                      seen.last_readable->node + " lives");
}

}  // namespace baton::sim
