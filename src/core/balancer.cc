#include "core/balancer.h"

#include <algorithm>
#include <utility>

#include "core/causes.h"
#include "core/may_claim.h"
#include "core/move_limits.h"

namespace baton::core {
namespace {

constexpr Duration kCampaignStep =
    std::chrono::milliseconds(300);  // between the first and the next in line
constexpr Duration kReplanLater =
    std::chrono::milliseconds(200);  // after a plan that may have been cut short
constexpr Duration kPlanPause =
    std::chrono::milliseconds(10);  // dozens of moves end within this time, in several batches
// A plan looks at every shard, and members can come by the hundred: with 100,000 shards there is at
// most one plan in 50 ms.
constexpr Duration kPlanPauseOfAThousand = std::chrono::microseconds(500);

// A shard with a live move is not moved otherwise, even if its target takes no part in the
// assignment, because it is failing or comes and goes. Such moves are operators' transfers, or
// are prepared: their leader may be releasing the shard. The others are Stuck.
void KeepLiveMoves(const View& view, const AssignmentOfView& assignment,
                   std::vector<bool>& movable) {
  const auto& shard_of = assignment.shard_of;
  for (const auto& [shard, move] : view.moves()) {
    const auto found = std::lower_bound(shard_of.begin(), shard_of.end(), shard);
    if (found == shard_of.end() || *found != shard || !view.LiveMove(move)) continue;
    movable[static_cast<std::size_t>(found - shard_of.begin())] = false;
  }
}

}  // namespace

bool Balancer::Leads(const Context& context) const {
  const RecordFact& record = context.view.balancer();
  return context.live() && context.view.InForce(record) && record.leader == context.self() &&
         record.session == context.session.id();
}

void Balancer::Clear() {
  campaign_.reset();
  campaign_at_ = TimePoint::max();
  writing_.clear();
  imbalanced_since_.reset();
  requested_ = false;
  failed_targets_.Clear();
  outdated_ = true;
  suspects_.SetAll();
}

void Balancer::Advance(Context& context) {
  NoteMoves(context);
  if (!context.live()) live_since_ = TimePoint::max();
  if (!context.view.complete() || !context.live()) return;
  live_since_ = std::min(live_since_, context.now);
  Campaign(context);
  ReportOrphans(context);
  if (!Leads(context)) return suspects_.SetAll();
  if (!writing_.empty()) return;
  if (context.now < write_not_before_) return context.WakeAt(write_not_before_);
  CancelRequest(context);
  WithdrawMoves(context);
  if (!writing_.empty()) return;
  // While shards are being claimed the plan changes with every claim: it can wait.
  if (outdated_) {
    const bool claims = claims_ && VacanciesToClaim(context.view, context.now) > 0;
    plan_at_ = std::min(
        plan_at_, claims ? context.now + kReplanLater : planned_at_ + PauseAfterPlan(context));
  }
  if (context.now >= plan_at_) Plan(context);
  context.WakeAt(plan_at_);
}

Duration Balancer::PauseAfterPlan(const Context& context) const {
  const Duration least = hurried_ ? Duration{0} : kPlanPause;
  return std::max(least, kPlanPauseOfAThousand * (context.view.shard_count() / 1000));
}

// The first live node by id claims at once, each next one a step later.
void Balancer::Campaign(Context& context) {
  const View& view = context.view;
  const RecordFact& record = view.balancer();
  const bool newer = record.present && record.readability == Readability::kNewerSchema;
  if (view.InForce(record) || newer || context.draining || campaign_) {
    if (view.InForce(record)) campaign_at_ = TimePoint::max();
    return;
  }
  if (campaign_at_ == TimePoint::max()) {
    std::int64_t place = 0;
    for (const auto& [node, member] : view.members()) {
      if (node == context.self()) break;
      if (member.Live() && !view.Draining(member)) ++place;
    }
    campaign_at_ = context.now + place * kCampaignStep;
  }
  if (context.now < campaign_at_) return context.WakeAt(campaign_at_);
  Claim claim;
  claim.reason = Reason::kStartup;
  if (record.present) {
    claim.read = record.revision;
    claim.previous = record.leader;
    claim.unknown_fields = record.unknown_fields;
    const bool readable = record.readability == Readability::kReadable;
    if (!readable) claim.quarantined = record.damaged_value;
    if (readable && !record.leader.empty()) claim.dead = SessionRef{record.leader, record.session};
  }
  campaign_ = context.Submit(WriteOwner::kBalancer,
                             ClaimBatch{.guard = context.session.guard(), .claims = {claim}});
}

void Balancer::Resign(Context& context) {
  if (!Leads(context)) return;
  context.Submit(
      WriteOwner::kBalancer,
      ResignBatch{.from = {context.self(), context.session.id()},
                  .resigns = {{.shard = std::nullopt,
                               .term = context.view.balancer().term(),
                               .reason = Reason::kShutdown,
                               .unknown_fields = context.view.balancer().unknown_fields}}});
}

void Balancer::ReportOrphans(Context& context) {
  const bool reports = Leads(context);
  for (Transition& lost : orphans_.Advance(context)) {
    if (reports) {
      context.Do(ReportTransition{std::move(lost)});
    } else {
      context.Do(SeeTransition{std::move(lost)});
    }
  }
}

// Every node notes the moves it sees, so that the next balancer knows what moved recently.
void Balancer::NoteMoves(const Context& context) {
  if (moved_.all()) {
    for (auto next = seen_.begin(); next != seen_.end();) NoteMove(context, (next++)->first);
    for (const auto& [shard, move] : context.view.moves()) NoteMove(context, shard);
  } else {
    for (const ShardId shard : moved_.shards()) NoteMove(context, shard);
  }
  moved_.Clear();
}

void Balancer::NoteMove(const Context& context, ShardId shard) {
  const MoveFact* move = context.view.move(shard);
  if (move != nullptr) {
    Seen& seen = seen_[shard];
    if (seen.ends == move->ends && seen.to == move->to && seen.phase == move->phase) return;
    seen = Seen{move->ends, move->to, move->phase, context.now};
    return;
  }
  const auto found = seen_.find(shard);
  if (found == seen_.end()) return;
  const RecordFact& record = context.view.record(shard);
  if (record.present && record.term() > found->second.ends) NoteMoved(shard, context.now);
  seen_.erase(found);
}

// Deletes void moves and those that made no progress in time.
void Balancer::WithdrawMoves(Context& context) {
  MoveBatch batch{
      .balancer_term = context.view.balancer().term(), .target = std::nullopt, .moves = {}};
  if (suspects_.all() || context.now >= withdraw_at_) {
    withdraw_at_ = TimePoint::max();
    for (const auto& [shard, move] : context.view.moves()) WithdrawIfVoid(context, move, batch);
  } else {
    for (const ShardId shard : suspects_.shards()) {
      const MoveFact* move = context.view.move(shard);
      if (move != nullptr) WithdrawIfVoid(context, *move, batch);
    }
  }
  suspects_.Clear();
  context.WakeAt(withdraw_at_);
  if (!batch.moves.empty())
    writing_.insert(context.Submit(WriteOwner::kBalancer, std::move(batch)));
}

// The target will prepare nothing, because it drains, or gets nothing for now: activations fail on
// it, or it comes and goes, maybe because it can't bear to prepare this shard. Another one must be
// found. An operator's move to a node that gets nothing is carried out.
bool Balancer::Stuck(const Context& context, const MoveFact& move) const {
  const View& view = context.view;
  const MemberFact* target = view.member(move.to);
  if (move.phase != MovePhase::kPlanned || target == nullptr) return false;
  if (view.Draining(*target)) return true;
  const bool doubtful = target->failing || context.now < view.steadiness().UnsteadyUntil(move.to);
  return doubtful && move.reason != Reason::kOperator &&
         NodesThatGetNothing(view, context.now).contains(move.to);
}

// If the batch is full, the move is looked at again once the batch is answered.
void Balancer::WithdrawIfVoid(Context& context, const MoveFact& move, MoveBatch& batch) {
  if (batch.moves.size() >= kMaxMoveWrites) return;
  const Duration allowed = move.phase == MovePhase::kPlanned
                               ? context.options.prepare_timeout
                               : context.options.release_timeout + context.options.callback_timeout;
  // 1.5 times the parties' own timeouts, which thus come first.
  const TimePoint withdraw_at = seen_.at(move.shard).since + allowed + allowed / 2;
  const bool live = !Stuck(context, move) && context.view.LiveMove(move);
  if (live && context.now < withdraw_at) {
    withdraw_at_ = std::min(withdraw_at_, withdraw_at);
    return;
  }
  // A move that stood still while this node could not see it says nothing of its target.
  const bool failed = live ? seen_.at(move.shard).since >= live_since_ : !move.void_reason.empty();
  const bool news = failed && failed_targets_.Note(context, move);
  ++(live ? counters_.timed_out : counters_.voided);
  if (news && !live) {
    context.Say(Notice::Level::kWarning, "the move of shard " + std::to_string(move.shard.value) +
                                             " is void: " + move.void_reason);
  }
  MoveWrite remove{.move = move, .read = move.revision};
  remove.move.present = false;
  batch.moves.push_back(std::move(remove));
}

// The imbalance must have lasted, and the membership must have been quiet.
bool Balancer::MayRebalance(const Context& context, bool requested, bool imbalanced) {
  if (!imbalanced) {
    imbalanced_since_.reset();
    return false;
  }
  if (!imbalanced_since_) imbalanced_since_ = context.now;
  if (requested) return true;
  if (context.view.policy({PolicyKind::kPause}) != nullptr) return false;
  const TimePoint quiet_since = std::max(*imbalanced_since_, context.view.membership_changed_at());
  const TimePoint at = quiet_since + MoveLimitsOf(context.view, context.options).rebalance_delay;
  if (context.now < at) plan_at_ = std::min(plan_at_, at);
  return context.now >= at;
}

// Keeps a shard where it is while its cooldown lasts. Also if it came here because a callback
// failed on another node: a move for balance alone might take it back there, again and again. Also
// if several of its leaders died in a row, until it has proven harmless: balance fills nodes that
// are just back, and if such a node dies again, that would count against the shard. None of this
// counts if the shard's leader is draining.
std::vector<bool> Balancer::Movable(const Context& context, const AssignmentOfView& assignment,
                                    bool requested) {
  const Duration cooldown = MoveLimitsOf(context.view, context.options).cooldown;
  const auto& shard_of = assignment.shard_of;
  std::vector<bool> movable = assignment.movable;
  for (std::size_t i = 0; i < shard_of.size(); ++i) {
    if (!movable[i]) continue;
    const TimePoint rests_until = failed_targets_.RestsUntil(context.view, shard_of[i]);
    if (context.now < rests_until) {
      movable[i] = false;
      plan_at_ = std::min(plan_at_, rests_until);
      continue;
    }
    if (requested) continue;
    const MemberIndex leader = assignment.input.shards[i].leader;
    if (leader != kNobody && assignment.input.members[leader].draining) continue;
    if (Misplaced(context.view, shard_of[i])) continue;
    const RecordFact& record = context.view.record(shard_of[i]);
    const TimePoint harmless_at = context.view.deaths().LongFrom(shard_of[i]);
    if (record.tally.deaths >= kDeathsBeforeWaiting && context.now < harmless_at) {
      movable[i] = false;
      plan_at_ = std::min(plan_at_, harmless_at);
      continue;
    }
    movable[i] = record.reason != Reason::kCallbackTimeout;
    const TimePoint rested = MovedAt(shard_of[i]) + cooldown;
    if (context.now >= rested) continue;
    movable[i] = false;
    plan_at_ = std::min(plan_at_, rested);
  }
  KeepLiveMoves(context.view, assignment, movable);
  return movable;
}

Reason Balancer::ReasonOf(const Context& context, const PlannedMove& move,
                          const NodeId& from) const {
  if (move.reason != Reason::kDrain) return Reason::kRebalance;
  const MemberFact* member = context.view.member(from);
  const bool stops = member != nullptr && member->Leaves();
  return stops ? Reason::kShutdown : Reason::kDrain;
}

void Balancer::Plan(Context& context) {
  const View& view = context.view;
  std::size_t in_flight = 0;
  for (const auto& [shard, move] : view.moves()) in_flight += view.LiveMove(move) ? 1 : 0;
  const std::size_t budget = MoveLimitsOf(view, context.options).max_moves;
  outdated_ = false;
  planned_at_ = context.now;
  hurried_ = false;
  plan_at_ = TimePoint::max();
  // Plans a batch of moves, not one for each that ends. The end of a move makes the plan outdated.
  if (in_flight > budget - std::max<std::size_t>(1, budget / 4)) return;
  const bool requested = view.policy({PolicyKind::kRebalance}) != nullptr;
  ++counters_.plans;
  const AssignmentOfView assignment = AssignmentFrom(view, context.options.settle, context.now);
  plan_at_ = assignment.changes_at;
  const bool vacancy = std::any_of(assignment.input.shards.begin(), assignment.input.shards.end(),
                                   [](const AssignmentShard& shard) { return shard.vacant(); });
  const bool drains = std::any_of(assignment.input.members.begin(), assignment.input.members.end(),
                                  [](const AssignmentMember& member) { return member.draining; });
  claims_ = vacancy && SomebodyMayLead(view);
  // Each claim that ends makes the plan outdated, so Plan runs again.
  if (claims_ && !drains) return;
  const auto movable = Movable(context, assignment, requested);
  auto moves = PlanMoves(assignment.input, movable,
                         std::min(budget - in_flight, kMoveBatchesAtOnce * kMaxMoveWrites));
  const auto urgent = [](const PlannedMove& move) { return move.urgent; };
  const bool imbalanced = !std::all_of(moves.begin(), moves.end(), urgent);
  const bool rebalances =
      MayRebalance(context, requested, imbalanced) && !vacancy && !assignment.owners_awaited;
  if (!rebalances) std::erase_if(moves, [&](const PlannedMove& move) { return !move.urgent; });
  plan_at_ = std::min(plan_at_, failed_targets_.Avoid(context, assignment, moves));
  if (moves.empty()) {
    if (requested && !imbalanced && in_flight == 0) FinishRequest(context);
    return;
  }
  plan_at_ = std::min(plan_at_, context.now + kReplanLater);
  WriteMoves(context, assignment, moves);
}

void Balancer::WriteMoves(Context& context, const AssignmentOfView& assignment,
                          const std::vector<PlannedMove>& moves) {
  const View& view = context.view;
  for (std::size_t first = 0; first < moves.size(); first += kMaxMoveWrites) {
    MoveBatch batch{.balancer_term = view.balancer().term(),
                    .target = std::nullopt,
                    .moves = {},
                    .policies = view.policies_changed()};
    const std::size_t end = std::min(moves.size(), first + kMaxMoveWrites);
    for (std::size_t i = first; i < end; ++i) {
      const ShardId shard = assignment.shard_of[moves[i].shard.value];
      MoveFact move;
      move.shard = shard;
      move.present = true;
      move.ends = view.record(shard).term();
      move.from = assignment.input.members[moves[i].from].id;
      move.to = assignment.input.members[moves[i].to].id;
      move.reason = ReasonOf(context, moves[i], move.from);
      move.cause =
          CauseOf(assignment.input, moves[i], {view.rules(), shard, *view.member(move.to)});
      const PolicyFact* order = nullptr;
      if (move.reason == Reason::kDrain) {
        order = view.policy({PolicyKind::kDrain, move.from});
      } else if (move.reason == Reason::kRebalance && !moves[i].urgent) {
        order = view.policy({PolicyKind::kRebalance});
      }
      if (order != nullptr) move.actor = order->actor;
      const MoveFact* old = view.move(shard);
      batch.moves.push_back({std::move(move), old != nullptr ? old->revision : Revision{}});
    }
    writing_.insert(context.Submit(WriteOwner::kBalancer, std::move(batch)));
  }
}

// An operator's "apply" was cancelled: withdraws the moves that it planned and nobody has prepared,
// and starts the delay of balancing again.
void Balancer::CancelRequest(Context& context) {
  const bool requested = context.view.policy({PolicyKind::kRebalance}) != nullptr;
  requested_ = requested_ || requested;
  if (requested || !requested_) return;
  imbalanced_since_.reset();
  MoveBatch batch{
      .balancer_term = context.view.balancer().term(), .target = std::nullopt, .moves = {}};
  for (const auto& [shard, move] : context.view.moves()) {
    if (batch.moves.size() >= kMaxMoveWrites) break;
    if (move.phase != MovePhase::kPlanned || move.reason != Reason::kRebalance) continue;
    MoveWrite remove{.move = move, .read = move.revision};
    remove.move.present = false;
    batch.moves.push_back(std::move(remove));
  }
  // Repeats until no such move is found: a batch may be full or refused.
  requested_ = !batch.moves.empty();
  if (requested_) writing_.insert(context.Submit(WriteOwner::kBalancer, std::move(batch)));
}

// An operator's "apply" has been carried out: deletes the policy.
void Balancer::FinishRequest(Context& context) {
  PolicyFact done = *context.view.policy({PolicyKind::kRebalance});
  done.present = false;
  done.actor.clear();  // nobody ordered this
  writing_.insert(
      context.Submit(WriteOwner::kBalancer, context.view.PolicyChange(std::move(done))));
}

void Balancer::On(Context& context, OperationId operation, Outcome outcome) {
  if (campaign_ && *campaign_ == operation) {
    campaign_.reset();
    // Refused, and still no balancer: try again later.
    if (!context.view.InForce(context.view.balancer())) campaign_at_ = context.now + kCampaignStep;
    return;
  }
  if (writing_.erase(operation) == 0) return;
  if (outcome == Outcome::kRefused) write_not_before_ = context.now + kReplanLater;
  outdated_ = true;
  suspects_.SetAll();
}

}  // namespace baton::core
