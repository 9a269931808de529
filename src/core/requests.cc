// Operators' requests: transfers and policies (Core::Ask). Each is answered once its write is
// definite.
#include <algorithm>
#include <utility>

#include "core/core.h"

namespace baton::core {

namespace {

constexpr std::size_t kRequestsAtOnce = 64;
// Each attempt can only fail because another change of a policy came first, and operators are few.
constexpr int kPolicyAttempts = 16;

const Error kTooMany{
    ErrorCode::kUnavailable,
    "too many changes are waiting for etcd already; check that etcd answers, then try again"};

}  // namespace

void Core::Ask(Context& context, const TransferAsked& event) {
  if (transfers_asked_.size() + policies_asked_.size() >= kRequestsAtOnce) {
    ++requests_refused_;
    return context.Do(AnswerTransfer{event.request, kTooMany});
  }
  Result<MoveFact> move = MoveFor(context, event);
  if (!move.ok() || event.dry_run) {
    context.Do(AnswerTransfer{event.request, std::move(move)});
    return;
  }
  const MoveFact* known = view_.move(event.shard);
  const Revision read = known != nullptr ? known->revision : Revision{};
  MoveBatch batch{
      .balancer_term = std::nullopt, .target = std::nullopt, .moves = {{move.value(), read}}};
  transfers_asked_[context.Submit(std::move(batch))] = event.request;
}

Result<MoveFact> Core::MoveFor(const Context& context, const TransferAsked& event) const {
  const std::string shard = "shard " + std::to_string(event.shard.value);
  if (!view_.complete() || !context.live()) {
    return Error{ErrorCode::kUnavailable, "this node's session is not live; ask another node"};
  }
  if (event.shard.value >= view_.shard_count()) {
    return Error{ErrorCode::kNotFound, shard + " does not exist: the group has shards 0 to " +
                                           std::to_string(view_.shard_count() - 1)};
  }
  const RecordFact& record = view_.record(event.shard);
  if (!view_.InForce(record)) {
    return Error{ErrorCode::kFailedPrecondition, shard + " has no leader that could hand it over"};
  }
  if (event.if_term && *event.if_term != record.term()) {
    return Error{ErrorCode::kFailedPrecondition,
                 shard + " is led with term " + std::to_string(record.term().value) + ", not " +
                     std::to_string(event.if_term->value)};
  }
  const MemberFact* target = view_.member(event.to);
  if (target == nullptr || !target->present) {
    return Error{ErrorCode::kNotFound, "no node '" + event.to + "' in this group"};
  }
  if (!target->Live() || view_.Draining(*target)) {
    return Error{ErrorCode::kFailedPrecondition, "node '" + event.to + "' is draining or not live"};
  }
  if (record.leader == event.to) {
    return Error{ErrorCode::kFailedPrecondition, shard + " is already led by '" + event.to + "'"};
  }
  const MoveFact* known = view_.move(event.shard);
  if (known != nullptr && view_.LiveMove(*known) && known->to != event.to) {
    return Error{ErrorCode::kFailedPrecondition,
                 shard + " is already moving to '" + known->to + "'"};
  }
  MoveFact move;
  move.shard = event.shard;
  move.present = true;
  move.ends = record.term();
  move.from = record.leader;
  move.to = event.to;
  move.reason = Reason::kOperator;
  move.actor = event.actor;
  return move;
}

void Core::Ask(Context& context, const PolicyAsked& event) {
  const auto refuse = [&](ErrorCode code, std::string message) {
    context.Do(AnswerPolicy{event.request, Error{code, std::move(message)}});
  };
  // Otherwise it would be written all the same, and nobody would send it again if its answer is
  // lost.
  if (halted_ || finished_)
    return refuse(ErrorCode::kUnavailable, "this node is stopping; ask another node");
  if (transfers_asked_.size() + policies_asked_.size() >= kRequestsAtOnce) {
    ++requests_refused_;
    return context.Do(AnswerPolicy{event.request, kTooMany});
  }
  if (!view_.complete())
    return refuse(ErrorCode::kUnavailable, "this node's view is not complete yet");
  const std::string drain = "drain/";
  if (event.present && event.name.starts_with(drain)) {
    const MemberFact* member = view_.member(event.name.substr(drain.size()));
    if (member == nullptr || !member->present) {
      return refuse(ErrorCode::kNotFound,
                    "no node '" + event.name.substr(drain.size()) + "' in this group");
    }
  }
  // Written even if the view shows it already: this view may be behind another node's answer.
  PolicyFact wanted;
  wanted.name = event.name;
  wanted.present = event.present;
  wanted.actor = event.actor;
  const OperationId operation = context.Submit(view_.PolicyChange(std::move(wanted)));
  policies_asked_[operation] = {event.request, kPolicyAttempts};
}

void Core::DropRequests(Context& context) {
  const Error gone{ErrorCode::kUnavailable,
                   "this node is stopping; the change may or may not have been made"};
  for (const auto& [operation, request] : std::exchange(transfers_asked_, {})) {
    writes_.Drop(operation);
    context.Do(AnswerTransfer{request, gone});
  }
  for (const auto& [operation, asked] : std::exchange(policies_asked_, {})) {
    writes_.Drop(operation);
    context.Do(AnswerPolicy{asked.request, gone});
  }
}

bool Core::AnswerRequest(Context& context, OperationId operation, const Write& write,
                         const WriteResult& result, bool sent_once) {
  const Error moved{ErrorCode::kFailedPrecondition,
                    "another change came first (" + result.detail + "); look at the group again"};
  if (const auto asked = transfers_asked_.find(operation); asked != transfers_asked_.end()) {
    MoveFact move = std::get<MoveBatch>(write).moves.front().move;
    // It may be refused because an earlier copy, whose answer was lost, was applied.
    const MoveFact* known = view_.move(move.shard);
    const RecordFact& record = view_.record(move.shard);
    const bool there = known != nullptr && known->ends == move.ends && known->to == move.to &&
                       known->actor == move.actor;
    const bool carried_out = record.leader == move.to && record.reason == move.reason &&
                             record.previous == move.from && record.term() > move.ends;
    const bool done = result.outcome == Outcome::kDone || there || carried_out;
    move.revision = result.revision;  // the caller recognises older views by it
    context.Do(
        AnswerTransfer{asked->second, done ? Result<MoveFact>(move) : Result<MoveFact>(moved)});
    transfers_asked_.erase(asked);
    return true;
  }
  const auto asked = policies_asked_.find(operation);
  if (asked == policies_asked_.end()) return false;
  auto [request, attempts] = asked->second;
  policies_asked_.erase(asked);
  const auto& change = std::get<PolicyWrite>(write);
  const bool as_wanted = (view_.policy(change.policy.name) != nullptr) == change.policy.present;
  if (result.outcome == Outcome::kDone || as_wanted) {
    context.Do(AnswerPolicy{request, Ok()});
    return true;
  }
  // Another change came first, and is known now. But if an earlier copy may have been applied and
  // then undone by somebody else, it must not be written again.
  const bool looked_at = result.revision.value != 0 && !result.permanent;
  if (looked_at && sent_once && --attempts > 0) {
    policies_asked_[context.Submit(view_.PolicyChange(change.policy))] = {request, attempts};
  } else {
    context.Do(AnswerPolicy{request, Status(moved)});
  }
  return true;
}

std::vector<MoveFact> Core::PlanNow(TimePoint now) const {
  const DivisionOfView division = DivisionFrom(view_, options_.settle, now);
  std::vector<MoveFact> result;
  const DivisionFunction& function = DivisionOf(view_, options_.divisions);
  for (const PlannedMove& planned :
       function.plan_moves(division.input, {}, division.input.shards.size())) {
    MoveFact move;
    move.shard = division.shard_of[planned.shard.value];
    move.ends = view_.record(move.shard).term();
    move.from = division.input.members[planned.from].id;
    move.to = division.input.members[planned.to].id;
    move.reason = planned.reason;
    result.push_back(std::move(move));
  }
  return result;
}

}  // namespace baton::core
