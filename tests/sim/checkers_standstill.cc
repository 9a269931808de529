// The checkers' part for moves that stand still and requests that repeat too fast. At rest every
// move takes its next step in moments, or is withdrawn within its bound; and nothing is sent again
// without a pause.
//
// A process that has to act is excused while it is held up itself: it is paused or suspended, one
// of its callbacks hangs, or its watch has fallen silent, which it notices with the next renewals.
// All processes are excused while a trouble strikes many. After that the time starts again.
#include <algorithm>

#include "sim/checkers.h"

namespace baton::sim {
namespace {

// One and a half times the parties' own bounds, by a clock that may be too slow (a quarter of a
// twentieth).
Duration WithdrawnWithin(Duration allowed) { return allowed * 3 / 2 * 25 / 24; }

// One second has room for 20 of the shortest pauses, and the clock may be too fast.
constexpr int kMaxCopies = static_cast<int>(seconds(1) / core::kMinRetryPause) * 25 / 24 + 2;

}  // namespace

bool Checkers::LiveMove(const MoveFact& move) const {
  const bool open = move.readability == Readability::kReadable && move.phase != MovePhase::kVoid;
  const RecordFact& record = shards_[move.shard.value].record;
  const bool in_force = record.present && record.term() == move.ends &&
                        record.leader == move.from && Alive(record.leader, record.session);
  const auto target = members_.find(move.to);
  if (!open || !in_force || target == members_.end() || !target->second.Live()) return false;
  if (move.phase == MovePhase::kPrepared) {
    return target->second.HoldsSession(move.prepared_session);
  }
  return target->second.state != MemberState::kDraining;
}

bool Checkers::BalancerInForce() const {
  return balancer_.present && balancer_.readability == Readability::kReadable &&
         !balancer_.leader.empty() && Alive(balancer_.leader, balancer_.session);
}

Process* Checkers::Planner() const {
  const auto found = session_process_.find(balancer_.session);
  if (!BalancerInForce() || found == session_process_.end()) return nullptr;
  Process* process = Of(found->second);
  return process->alive() ? process : nullptr;
}

void Checkers::NoteUnwell() {
  for (const auto& process : processes_) {
    const bool well = process->running() && !process->dispatcher().hung() &&
                      process->core().session().live(process->host().clock().Now()) &&
                      process->core().view().revision() >= stored_before_;
    if (!well) unwell_at_[process->number()] = world_.now();
  }
  stored_before_ = Revision{etcd_.store().revision()};
}

TimePoint Checkers::WellSince(SessionId session) const {
  const auto found = session_process_.find(session);
  if (found == session_process_.end()) return world_.now();
  const auto unwell = unwell_at_.find(found->second);
  return std::max(troubled_at_, unwell != unwell_at_.end() ? unwell->second : TimePoint{});
}

void Checkers::CheckMovesGoOn() {
  NoteUnwell();
  for (auto& [shard, kept] : moves_) {
    if (kept.fact.present) CheckGoesOn(shard, kept);
  }
}

void Checkers::CheckGoesOn(ShardId shard, Move& kept) {
  const MoveFact& move = kept.fact;
  const TimePoint elected = BalancerInForce() ? balancer_since_ : world_.now();
  if (!LiveMove(move)) {
    if (!kept.void_since) kept.void_since = world_.now();
    return CheckStep({.shard = shard,
                      .by = balancer_.session,
                      .since = std::max(*kept.void_since, elected),
                      .bound = options_.step_bound},
                     "is void, and the balancer leaves it there");
  }
  kept.void_since.reset();
  const bool planned = move.phase == MovePhase::kPlanned;
  const Duration allowed =
      planned ? options_.prepare_timeout : options_.release_timeout + options_.callback_timeout;
  CheckStep({.shard = shard,
             .by = planned ? members_.at(move.to).lease : RecordOf(shard).session,
             .since = kept.since,
             .bound = options_.step_bound},
            planned ? "stands still: its target does not prepare it"
                    : "stands still: its leader does not carry it out");
  CheckStep({.shard = shard,
             .by = balancer_.session,
             .since = std::max(kept.since, elected),
             .bound = WithdrawnWithin(allowed) + options_.step_bound},
            "stands still, and the balancer does not withdraw it");
}

void Checkers::CheckStep(const Step& step, const char* what) {
  const Duration took = world_.now() - std::max(step.since, WellSince(step.by));
  if (step.bound == options_.step_bound) {
    observed_.longest_step = std::max(observed_.longest_step, took);
  }
  if (took <= step.bound) return;
  Violation("I9", "the move of " + std::string("shard ") + std::to_string(step.shard.value) + " " +
                      what + ", for " + std::to_string(took / milliseconds(1)) + " ms");
}

// After an unknown outcome or a refusal, a request waits at least the shortest pause before it is
// sent again.
void Checkers::Sent(Process& process, const pb::TxnRequest& request) {
  NoteRecords(process, request, seen_[process.number()]);
  SentNow& sent = sent_[process.number()];
  const Duration::rep second = world_.now().time_since_epoch() / seconds(1);
  if (std::exchange(sent.second, second) != second) sent.times.clear();
  if (++sent.times[request.SerializeAsString()] != kMaxCopies + 1) return;
  Violation("I8", process.node() + " sends the same again without a pause: more than " +
                      std::to_string(kMaxCopies) + " times in a second");
}

}  // namespace baton::sim
