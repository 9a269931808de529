#include "core/other_tries.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/may_claim.h"
#include "core/move_limits.h"

namespace baton::core {
namespace {

// The first is longer than a void move's cooldown is by default, so that the balancer's word holds.
constexpr Duration kFirstPause = std::chrono::seconds(30);
constexpr Duration kLongestPause = std::chrono::minutes(5);

bool IsOtherTry(const Context& context, const MoveFact& move) {
  return move.reason == Reason::kCallbackTimeout && move.from == context.self() &&
         move.phase == MovePhase::kPlanned;
}

bool Lasted(const Context& context, TimePoint since) {
  return context.now >= since + kOtherTryAfter;
}

}  // namespace

void OtherTries::Advance(Context& context, const HeldShards& held,
                         const FailedActivations& failed) {
  if (planned_.empty() && failed.hopeless().empty() && !failed.failing()) {
    common_ = false;
    return;
  }
  if (!context.live() || !context.attached() || context.draining || writing_) return;
  if (context.now < write_not_before_) return context.WakeAt(write_not_before_);
  std::erase_if(planned_, [&](const auto& entry) {
    const auto found = held.find(entry.first);
    return found == held.end() || found->second.term != entry.second.term;
  });
  Withdraw(context, held);
  if (writing_ || !Wanted(context, failed) || CauseIsCommon(context)) return;
  if (context.now < look_not_before_) return context.WakeAt(look_not_before_);
  look_not_before_ = context.now + kOtherTriesEvery;
  Plan(context, held, failed);
}

// The shard was activated after all: there is no reason to move it any more.
void OtherTries::Withdraw(Context& context, const HeldShards& held) {
  MoveBatch batch{.balancer_term = std::nullopt, .target = context.session.guard(), .moves = {}};
  for (const auto& [shard, planned] : planned_) {
    const MoveFact* move = context.view.move(shard);
    if (move == nullptr || move->ends != planned.term || !IsOtherTry(context, *move)) continue;
    if (!held.at(shard).activated || batch.moves.size() >= kMaxMoveWrites) continue;
    MoveWrite remove{.move = *move, .read = move->revision};
    remove.move.present = false;
    batch.moves.push_back(std::move(remove));
  }
  if (!batch.moves.empty()) Submit(context, std::move(batch));
}

bool OtherTries::Wanted(const Context& context, const FailedActivations& failed) const {
  if (failed.hopeless().empty() && !failed.failing()) return false;
  const View& view = context.view;
  // Nothing changes its leader without an order then, nor costs a time without one.
  const FailoverSettings& failover = view.failover();
  const bool bound = failover.policy == FailoverPolicy::kNever || failover.lock_delay.count() > 0;
  return view.complete() && view.policy({PolicyKind::kPause}) == nullptr && !bound &&
         AnotherMayLead(view, context.self());
}

bool OtherTries::CauseIsCommon(Context& context) {
  if (FailuresAreCommon(context.view)) {
    common_ = true;
    return true;
  }
  if (std::exchange(common_, false)) common_until_ = context.now + kOtherTryAfterCommonCause;
  if (context.now < common_until_) context.WakeAt(common_until_);
  return context.now < common_until_;
}

OtherTries::Targets OtherTries::FindTargets(const Context& context) const {
  const View& view = context.view;
  Targets targets;
  const std::map<NodeId, TimePoint> nothing = NodesThatGetNothing(view, context.now);
  for (const auto& [node, member] : view.members()) {
    if (node == context.self() || nothing.contains(node)) continue;
    if (EligibilityOf(view, member) != Eligibility::kYes) continue;
    targets.nodes[node] = {.weight = member.weight, .held = view.LedBy(node)};
  }
  std::size_t in_flight = 0;
  for (const auto& [shard, move] : view.moves()) {
    if (!view.LiveMove(move)) continue;
    ++in_flight;
    const auto found = targets.nodes.find(move.to);
    if (found != targets.nodes.end()) ++found->second.held;
  }
  const std::size_t budget = MoveLimitsOf(view, context.options).max_moves;
  std::set<NodeId> failing = FailingNodes(view);
  failing.insert(context.self());
  if (in_flight < budget) {
    targets.room = std::max<std::size_t>(1, (budget - in_flight) / failing.size());
  }
  return targets;
}

// Until `consider` returns false. Once a node's failing began, or began again, nothing moves before
// others had the time to say that they fail, too.
void OtherTries::ForEachCandidate(Context& context, const FailedActivations& failed,
                                  const std::function<bool(ShardId)>& consider) const {
  if (context.now < failed.starts_over_until()) {
    return context.WakeAt(failed.starts_over_until());
  }
  if (failed.failing() && !Lasted(context, *failed.failing_since())) {
    return context.WakeAt(*failed.failing_since() + kOtherTryAfter);
  }
  for (const ShardId shard : failed.hopeless()) {
    if (!consider(shard)) return;
  }
  // Others know that this node is failing, so they send nothing back.
  const MemberFact* self = context.view.member(context.self());
  if (!failed.failing() || self == nullptr || !self->failing) return;
  for (const auto& [shard, failure] : failed.failures()) {
    if (!failed.hopeless().contains(shard) && !consider(shard)) return;
  }
  for (const auto& [spread, shard] : failed.untried()) {
    if (!consider(shard)) return;
  }
}

void OtherTries::Plan(Context& context, const HeldShards& held, const FailedActivations& failed) {
  Targets targets = FindTargets(context);
  const std::size_t most = std::min(targets.room, kMaxMoveWrites);
  MoveBatch batch{.balancer_term = std::nullopt,
                  .target = context.session.guard(),
                  .moves = {},
                  .policies = context.view.policies_changed()};
  ForEachCandidate(context, failed, [&](ShardId shard) {
    if (!Movable(context, shard, held.at(shard), failed)) return true;
    context.WakeAt(look_not_before_);
    if (batch.moves.size() >= most) return false;
    const std::optional<NodeId> target = Choose(context, shard, targets);
    if (!target) return true;  // its last leader, which may be the only other node, must not try it
    ++targets.nodes.at(*target).held;
    PlanShard(context, shard, *target, batch);
    return true;
  });
  if (!batch.moves.empty()) Submit(context, std::move(batch));
}

bool OtherTries::Movable(Context& context, ShardId shard, const HeldShard& held,
                         const FailedActivations& failed) {
  if (!std::holds_alternative<HeldShard::Leading>(held.phase) || held.activated) return false;
  if (!failed.Waits(shard) || context.view.move(shard) != nullptr) return false;
  const auto failure = failed.failures().find(shard);
  if (failure != failed.failures().end()) {
    if (context.view.record(shard).reason == Reason::kCallbackTimeout) return false;
    if (!Lasted(context, failure->second.since)) {
      context.WakeAt(failure->second.since + kOtherTryAfter);
      return false;
    }
  }
  const auto planned = planned_.find(shard);
  if (planned == planned_.end() || context.now >= planned->second.not_before) return true;
  context.WakeAt(planned->second.not_before);
  return false;
}

// A shard that came here because it failed on its last leader does not go back there.
std::optional<NodeId> OtherTries::Choose(const Context& context, ShardId shard,
                                         const Targets& targets) const {
  const RecordFact& record = context.view.record(shard);
  const bool failed_there = record.reason == Reason::kCallbackTimeout;
  const auto allowed = [&](const NodeId& node) {
    return context.view.rules().Allow(shard, *context.view.member(node));
  };
  const bool knows = targets.nodes.contains(record.previous) && allowed(record.previous);
  if (!failed_there && knows) return record.previous;
  std::optional<NodeId> best;
  Targets::Node least;
  for (const auto& [node, load] : targets.nodes) {
    if ((failed_there && node == record.previous) || !allowed(node)) continue;
    if (best && (load.held + 1) * least.weight >= (least.held + 1) * load.weight) continue;
    best = node;
    least = load;
  }
  return best;
}

void OtherTries::PlanShard(Context& context, ShardId shard, const NodeId& target,
                           MoveBatch& batch) {
  const Term term = context.view.record(shard).term();
  MoveFact move;
  move.shard = shard;
  move.present = true;
  move.ends = term;
  move.from = context.self();
  move.to = target;
  move.reason = Reason::kCallbackTimeout;
  move.cause = {.kind = CauseKind::kActivationFailed, .detail = move.from};
  batch.moves.push_back({std::move(move), Revision{}});
  Planned& planned = planned_[shard];
  if (planned.term != term) planned = {.term = term};
  planned.pause = std::clamp(2 * planned.pause, kFirstPause, kLongestPause);
  planned.not_before = context.now + planned.pause;
}

void OtherTries::Submit(Context& context, MoveBatch batch) {
  writing_ = context.Submit(WriteOwner::kOtherTries, std::move(batch));
}

void OtherTries::On(Context& context, OperationId operation, Outcome outcome) {
  if (writing_ != operation) return;
  writing_.reset();
  if (outcome == Outcome::kRefused) write_not_before_ = context.now + kMaxRetryPause;
}

void OtherTries::Clear() {
  planned_.clear();
  common_ = false;
  writing_.reset();
}

}  // namespace baton::core
