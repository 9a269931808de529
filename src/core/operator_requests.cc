#include "core/operator_requests.h"

#include <string>
#include <utility>

#include "base/endpoint.h"
#include "core/drain_change.h"
#include "core/force_release.h"
#include "core/group_change.h"
#include "core/move_limits.h"
#include "core/node_change_request.h"

namespace baton::core {
namespace {

// Each attempt can only fail because another change of a policy came first, and operators are few.
constexpr int kPolicyAttempts = 16;

const Error kTooMany{
    ErrorCode::kUnavailable,
    "too many changes are waiting for etcd already; check that etcd answers, then try again"};

const Error kNotMade{ErrorCode::kUnavailable,
                     "etcd can't be reached: the change was not made, and won't be"};
const Error kNoTime{ErrorCode::kUnavailable, "no time was left: the change was not made"};
const Error kStopping{ErrorCode::kUnavailable, "this node is stopping; ask another node"};
const Error kOthersFirst{ErrorCode::kUnavailable,
                         "other changes came first until the time was over: the change was not "
                         "made, and won't be"};
const Error kFirstOfTwo{ErrorCode::kUnavailable,
                        "the change needs two writes, and only the first was made in time: the "
                        "settings are as they were, and stay so"};
const Error kMayBeMade{ErrorCode::kTimedOut,
                       "etcd has not answered in time; the change may still be made"};

// For either kind of request; does nothing if the caller was answered already.
void AnswerTo(Context& context, std::optional<RequestId> request, Result<MoveFact> result) {
  if (request) context.Do(AnswerTransfer{*request, std::move(result)});
}
void AnswerTo(Context& context, std::optional<RequestId> request, Status result) {
  if (request) context.Do(AnswerChange{*request, std::move(result)});
}

// Answers those whose time is over, and drops what was never sent. Wakes for the others.
template <typename Answer, typename Waiting>
void EndLate(Context& context, Waiting& waiting) {
  for (auto next = waiting.begin(); next != waiting.end();) {
    const auto entry = next++;
    auto& caller = entry->second.caller;
    if (context.now < caller.answer_by) {
      context.WakeAt(caller.answer_by);
      continue;
    }
    const bool dropped = context.writes.NeverSent(entry->first);
    AnswerTo(context, std::exchange(caller.request, std::nullopt),
             Answer(dropped ? kNotMade : kMayBeMade));
    if (!dropped) continue;
    context.writes.Drop(entry->first);
    waiting.erase(entry);
  }
}

Error AnotherCameFirst(const WriteResult& result) {
  if (result.permanent) {
    return {ErrorCode::kFailedPrecondition,
            "etcd refuses to write the change, and will again (" + result.detail + ")"};
  }
  return {ErrorCode::kFailedPrecondition,
          "another change came first (" + result.detail + "); look at the group again"};
}

Error NoSuchShard(const View& view, const std::string& shard) {
  return {ErrorCode::kNotFound, shard + " does not exist: the group has shards 0 to " +
                                    std::to_string(view.shard_count() - 1)};
}

// The move that an operator asks for, or why it can't be made.
Result<MoveFact> MoveFor(const Context& context, const TransferRequested& event) {
  const View& view = context.view;
  const std::string shard = "shard " + std::to_string(event.shard.value);
  if (!view.complete() || !context.live()) {
    return Error{ErrorCode::kUnavailable, "this node's session is not live; ask another node"};
  }
  if (event.shard.value >= view.shard_count()) return NoSuchShard(view, shard);
  const RecordFact& record = view.record(event.shard);
  if (!view.InForce(record)) {
    return Error{ErrorCode::kFailedPrecondition, shard + " has no leader that could hand it over"};
  }
  if (event.if_term && *event.if_term != record.term()) {
    return Error{ErrorCode::kFailedPrecondition,
                 shard + " is led with term " + std::to_string(record.term().value) + ", not " +
                     std::to_string(event.if_term->value)};
  }
  const MemberFact* target = view.member(event.to);
  if (target == nullptr || !target->present) {
    return Error{ErrorCode::kNotFound, "no node '" + event.to + "' in this group"};
  }
  if (!target->Live()) {
    return Error{ErrorCode::kFailedPrecondition, "node '" + event.to + "' has no live session"};
  }
  if (view.Draining(*target)) {
    return Error{
        ErrorCode::kFailedPrecondition,
        "node '" + event.to + "' is draining, so it takes no shards: see batonctl nodes list"};
  }
  if (record.leader == event.to) {
    return Error{ErrorCode::kFailedPrecondition, shard + " is already led by '" + event.to + "'"};
  }
  if (!view.rules().Allow(event.shard, *target)) {
    return Error{ErrorCode::kFailedPrecondition, "a placement rule keeps node '" + event.to +
                                                     "' from leading " + shard + ": see " +
                                                     "batonctl placement get"};
  }
  const MoveFact* known = view.move(event.shard);
  if (known != nullptr && view.LiveMove(*known) && known->to != event.to) {
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
  move.cause.kind = CauseKind::kOperator;
  return move;
}

Error LedElsewhere(const View& view, const RecordFact& record, const std::string& shard) {
  const MemberFact* leader = view.member(record.leader);
  const std::string& address = leader != nullptr ? leader->address : std::string();
  return {ErrorCode::kFailedPrecondition,
          shard + " is led by '" + record.leader + "': ask that node" +
              (!IsPeerEndpoint(address) ? "" : " (--endpoint " + address + ")")};
}

// How many attempts have failed, or why another one can't begin now.
Result<std::uint32_t> MayRetry(const Context& context, const Leaderships& leaderships,
                               ShardId number) {
  const View& view = context.view;
  const std::string shard = "shard " + std::to_string(number.value);
  const auto refuse = [&](const std::string& why) {
    return Error{ErrorCode::kFailedPrecondition, shard + why};
  };
  if (context.ended || !view.complete() || !context.live()) {
    return Error{ErrorCode::kUnavailable, "this node's session is not live, so it tries nothing"};
  }
  if (number.value >= view.shard_count()) return NoSuchShard(view, shard);
  const auto held = leaderships.held().find(number);
  const RecordFact& record = view.record(number);
  if (held == leaderships.held().end()) {
    if (!view.InForce(record)) return refuse(" has no leader");
    if (record.leader != context.self()) return LedElsewhere(view, record, shard);
    return refuse(" was gained a moment ago");
  }
  if (held->second.activated) return refuse(" is active: there is nothing to try again");
  const auto failure = leaderships.failed().failures().find(number);
  if (failure == leaderships.failed().failures().end()) {
    const FailedActivations& failed = leaderships.failed();
    if (!failed.Waits(number)) return refuse(" has not failed: its first acquired still runs");
    return refuse(
        failed.failing()
            ? " waits for its first try, because others fail on this node: retry one"
            : " waits for its first try: until one succeeds, this node tries few at once");
  }
  if (failure->second.late) {
    return refuse(" can't be tried again before the acquired that timed out returns");
  }
  if (context.draining || !std::holds_alternative<Leaderships::Leading>(held->second.phase)) {
    return refuse(" is being handed over");
  }
  if (!context.attached()) return refuse(" can't be tried: no application is attached");
  if (leaderships.failed().Full()) {
    return Error{ErrorCode::kUnavailable,
                 "as many retries run as may run at once; try again in a moment"};
  }
  return failure->second.failures;
}

}  // namespace

// Why nothing can be written for a request now. A node that ends would write it all the same, and
// nobody would send it again if its answer is lost.
std::optional<Error> OperatorRequests::WhyNotNow(const Context& context, TimePoint answer_by) {
  if (context.ended) return kStopping;
  if (Full()) {
    ++refused_;
    return kTooMany;
  }
  if (context.now >= answer_by) return kNoTime;
  if (!context.view.complete()) return kNoView;
  return std::nullopt;
}

void OperatorRequests::Advance(Context& context, Leaderships& leaderships) {
  for (const News& news : std::exchange(news_, {})) {
    std::visit([&](const auto& each) { Handle(context, leaderships, each); }, news);
  }
  GoOnWithPostponed(context);
  EndLate<Result<MoveFact>>(context, transfers_);
  EndLate<Status>(context, policies_);
  EndLate<Status>(context, group_changes_);
  EndLate<Status>(context, releases_);
}

void OperatorRequests::Handle(Context& context, Leaderships&, const TransferRequested& asked) {
  if (Full()) {
    ++refused_;
    return context.Do(AnswerTransfer{asked.request, kTooMany});
  }
  if (context.now >= asked.answer_by) return context.Do(AnswerTransfer{asked.request, kNoTime});
  Result<MoveFact> move = MoveFor(context, asked);
  if (!move.ok() || asked.dry_run) {
    return context.Do(AnswerTransfer{asked.request, std::move(move)});
  }
  const MoveFact* known = context.view.move(asked.shard);
  const Revision read = known != nullptr ? known->revision : Revision{};
  MoveBatch batch{
      .balancer_term = std::nullopt, .target = std::nullopt, .moves = {{move.value(), read}}};
  transfers_[context.Submit(WriteOwner::kRequests, std::move(batch))] = {
      .caller = {.request = asked.request, .answer_by = asked.answer_by}};
}

void OperatorRequests::Handle(Context& context, Leaderships&, const PolicyRequested& asked) {
  if (const auto error = WhyNotNow(context, asked.answer_by)) {
    return context.Do(AnswerChange{asked.request, *error});
  }
  if (asked.name.kind == PolicyKind::kDrain) {
    const auto error = RefuseDrainChange(context.view, asked.name.node, asked.present);
    if (error) return context.Do(AnswerChange{asked.request, *error});
  }
  if (asked.dry_run) return context.Do(AnswerChange{asked.request, Ok()});
  // Written even if the view shows it already: this view may be behind another node's answer.
  PolicyWrite write;
  if (asked.name.kind == PolicyKind::kLimits) {
    write = LimitsWrite(context.view, asked.limits, asked.actor);
  } else {
    write = context.view.PolicyChange(
        {.name = asked.name, .present = asked.present, .actor = asked.actor});
    if (asked.name.kind == PolicyKind::kExpectedNodes) write.policy.expected_nodes = asked.number;
  }
  policies_[context.Submit(WriteOwner::kRequests, std::move(write))] = {
      .caller = {.request = asked.request, .answer_by = asked.answer_by},
      .limits = asked.limits,
      .attempts = kPolicyAttempts};
}

void OperatorRequests::Handle(Context& context, Leaderships&, const NodeChangeRequested& asked) {
  const Result<NodeChanged> changed = NodeChangeFor(context, asked);
  if (changed.ok() && changed->differs && !asked.dry_run) {
    node_settings_ = changed->settings;
    context.Do(
        ReportNodeChange{"set " + asked.node + " " + ChangeWords(asked.change), asked.actor});
  }
  context.Do(AnswerNodeChange{asked.request, changed});
}

// The try begins later in the same step.
void OperatorRequests::Handle(Context& context, Leaderships& leaderships,
                              const RetryRequested& asked) {
  const Result<std::uint32_t> attempts = MayRetry(context, leaderships, asked.shard);
  if (attempts.ok() && !asked.dry_run) {
    leaderships.RetryNow(asked.shard);
    context.Say(Notice::Level::kInfo, "shard " + std::to_string(asked.shard.value) +
                                          ": acquired is tried again at once, because " +
                                          asked.actor + " asked for it");
  }
  context.Do(AnswerRetry{asked.request, attempts});
}

void OperatorRequests::Handle(Context& context, Leaderships&, const GroupChangeRequested& asked) {
  if (const auto error = WhyNotNow(context, asked.answer_by)) {
    return context.Do(AnswerChange{asked.request, *error});
  }
  GoOn(context, {.caller = {.request = asked.request, .answer_by = asked.answer_by},
                 .asked = asked,
                 .attempts = kPolicyAttempts});
}

void OperatorRequests::Handle(Context& context, Leaderships&, const ReleaseRequested& asked) {
  if (const auto error = WhyNotNow(context, asked.answer_by)) {
    return context.Do(AnswerChange{asked.request, *error});
  }
  if (asked.shard.value >= context.view.shard_count()) {
    const std::string shard = "shard " + std::to_string(asked.shard.value);
    return context.Do(AnswerChange{asked.request, NoSuchShard(context.view, shard)});
  }
  Result<ForceRelease> release = ForceReleaseFor(context, asked);
  if (!release) return context.Do(AnswerChange{asked.request, release.error()});
  if (asked.dry_run) return context.Do(AnswerChange{asked.request, Ok()});
  releases_[context.Submit(WriteOwner::kRequests, *std::move(release))] = {
      .caller = {.request = asked.request, .answer_by = asked.answer_by}};
}

void OperatorRequests::Handle(Context& context, Leaderships&, const Answered& answer) {
  if (const auto transfer = transfers_.extract(answer.operation); !transfer.empty()) {
    const auto& write = std::get<MoveBatch>(*answer.settled.write);
    Finish(context, transfer.mapped(), write, answer.result);
  } else if (const auto policy = policies_.extract(answer.operation); !policy.empty()) {
    Finish(context, policy.mapped(), answer.settled, answer.result);
  } else if (auto change = group_changes_.extract(answer.operation); !change.empty()) {
    Finish(context, std::move(change.mapped()), answer.settled, answer.result);
  } else if (const auto release = releases_.extract(answer.operation); !release.empty()) {
    Finish(context, release.mapped(), std::get<ForceRelease>(*answer.settled.write), answer.result);
  }
}

// A transfer that is refused may have been applied all the same: by an earlier copy, whose answer
// was lost.
void OperatorRequests::Finish(Context& context, const Transfer& asked, const MoveBatch& write,
                              const WriteResult& result) {
  MoveFact move = write.moves.front().move;
  const MoveFact* known = context.view.move(move.shard);
  const RecordFact& record = context.view.record(move.shard);
  const bool there = known != nullptr && known->ends == move.ends && known->to == move.to &&
                     known->actor == move.actor && known->reason == move.reason;
  const bool carried_out = record.leader == move.to && record.reason == move.reason &&
                           record.previous == move.from && record.term() > move.ends;
  if (result.outcome != Outcome::kDone && !there && !carried_out) {
    return AnswerTo(context, asked.caller.request, Result<MoveFact>(AnotherCameFirst(result)));
  }
  move.revision = result.revision;  // the caller recognises older views by it
  AnswerTo(context, asked.caller.request, Result<MoveFact>(std::move(move)));
}

void OperatorRequests::Finish(Context& context, PolicyRequest asked,
                              const PendingWrites::Settled& settled, const WriteResult& result) {
  const auto& change = std::get<PolicyWrite>(*settled.write);
  const PolicyFact* known = context.view.policy(change.policy.name);
  const bool as_wanted = change.policy.OrdersTheSame(known != nullptr ? *known : PolicyFact{});
  if (result.outcome == Outcome::kDone || as_wanted) {
    return AnswerTo(context, asked.caller.request, Ok());
  }
  // Another change came first, and is known now. But if an earlier copy may have been applied and
  // then undone by somebody else, it must not be written again. Nor if nobody waits for it any
  // more.
  const bool looked_at = result.revision.value != 0 && !result.permanent;
  const bool in_time = context.now < asked.caller.answer_by;
  if (looked_at && settled.sent_once && in_time && --asked.attempts > 0) {
    // Of limits, the other change may have set those that this one lets stay.
    const bool limits = change.policy.name.kind == PolicyKind::kLimits;
    PolicyWrite again = limits ? LimitsWrite(context.view, asked.limits, change.policy.actor)
                               : context.view.PolicyChange(change.policy);
    policies_[context.Submit(WriteOwner::kRequests, std::move(again))] = asked;
  } else {
    AnswerTo(context, asked.caller.request, Status(AnotherCameFirst(result)));
  }
}

void OperatorRequests::GoOn(Context& context, GroupChange change) {
  const auto next = NextConfigFor(context.view, context.options, change.asked);
  if (!next) return AnswerTo(context, change.caller.request, Status(next.error()));
  if (!next.value() || change.asked.dry_run) {
    return AnswerTo(context, change.caller.request, Ok());
  }
  const ConfigChange write{.config = next.value()->config,
                           .read = context.view.config().revision,
                           .members = context.view.revision()};
  change.read = write.read;
  change.members = write.members;
  change.last = next.value()->last;
  group_changes_[context.Submit(WriteOwner::kRequests, write)] = std::move(change);
}

void OperatorRequests::Finish(Context& context, GroupChange change,
                              const PendingWrites::Settled& settled, const WriteResult& result) {
  const bool done = result.outcome == Outcome::kDone;
  const std::uint32_t wanted = std::get<ConfigChange>(*settled.write).config.schema;
  const bool raised = !change.last && context.view.config().schema >= wanted;
  if (done && change.last) {
    const auto& made = std::get<ConfigChange>(*settled.write).config;
    const std::string words = change.asked.placement
                                  ? "the group's placement rules were replaced (there are " +
                                        std::to_string(made.placement.size()) + " now)"
                                  : "the group's settings are now: " + SettingWords(made.failover);
    context.Say(Notice::Level::kInfo, words + ", because " + change.asked.actor + " asked for it");
    return AnswerTo(context, change.caller.request, Ok());
  }
  // Either the settings follow, or something else came first. An earlier copy may be that, too:
  // then the config is what it wrote. Only if the settings themselves may have been written and
  // replaced, they are not written again, and another's, even if they are the same, are not called
  // made.
  const auto& written = std::get<ConfigChange>(*settled.write).config;
  const ConfigFact& found = context.view.config();
  const bool ours = change.last && found.present && found.failover == written.failover &&
                    found.placement == written.placement && found.actor == written.actor &&
                    found.revision > change.read;
  if (ours) return AnswerTo(context, change.caller.request, Ok());
  const bool looked_at = result.revision.value != 0 && !result.permanent;
  const bool may_go_on = done || raised || (looked_at && settled.sent_once);
  if (!may_go_on || context.now >= change.caller.answer_by || --change.attempts == 0) {
    return AnswerTo(context, change.caller.request,
                    Status(done || raised ? kFirstOfTwo : AnotherCameFirst(result)));
  }
  if (done || raised) return GoOn(context, std::move(change));
  postponed_.push_back(std::move(change));
}

// Whatever came first was written after `members`. The watch brings it.
void OperatorRequests::GoOnWithPostponed(Context& context) {
  for (GroupChange& change : std::exchange(postponed_, {})) {
    if (context.now >= change.caller.answer_by) {
      AnswerTo(context, change.caller.request, Status(kOthersFirst));
    } else if (context.view.revision() > change.members) {
      GoOn(context, std::move(change));
    } else {
      context.WakeAt(change.caller.answer_by);
      postponed_.push_back(std::move(change));
    }
  }
}

// A release that is refused may have been applied all the same, by an earlier copy. A node may have
// claimed the shard since: its record keeps the release's reason and previous leader.
void OperatorRequests::Finish(Context& context, const Release& asked, const ForceRelease& write,
                              const WriteResult& result) {
  const std::string shard = "shard " + std::to_string(write.shard.value);
  const RecordFact& record = context.view.record(write.shard);
  const bool there = record.leader.empty() && record.resigned_by.empty() &&
                     record.reason == Reason::kOperator && record.previous == write.dead.node &&
                     record.session == write.dead.session;
  const bool claimed = !record.leader.empty() && record.reason == Reason::kOperator &&
                       record.actor.empty() && record.previous == write.dead.node &&
                       record.term() > write.term;
  if (result.outcome == Outcome::kDone || there || claimed) {
    const std::string led = write.dead.node.empty() ? "nobody knows who led it last"
                                                    : "'" + write.dead.node + "' led it last";
    context.Say(Notice::Level::kWarning, shard + " was released by force, because " + write.actor +
                                             " asked for it: " + led +
                                             ", and now any node may claim it");
    return AnswerTo(context, asked.caller.request, Ok());
  }
  if (context.view.InForce(record)) {
    return AnswerTo(
        context, asked.caller.request,
        Status(Error{ErrorCode::kFailedPrecondition,
                     shard + " was not released: '" + record.leader + "' leads it now, with term " +
                         std::to_string(record.term().value)}));
  }
  AnswerTo(context, asked.caller.request, Status(AnotherCameFirst(result)));
}

void OperatorRequests::DropAll(Context& context) {
  // kTimedOut, as the outcome is not known.
  const Error gone{ErrorCode::kTimedOut, "this node is stopping; the change may still be made"};
  for (const auto& [operation, asked] : std::exchange(transfers_, {})) {
    context.writes.Drop(operation);
    AnswerTo(context, asked.caller.request, Result<MoveFact>(gone));
  }
  const auto drop = [&](const auto& waiting) {
    for (const auto& [operation, asked] : waiting) {
      context.writes.Drop(operation);
      AnswerTo(context, asked.caller.request, Status(gone));
    }
  };
  drop(std::exchange(policies_, {}));
  drop(std::exchange(group_changes_, {}));
  drop(std::exchange(releases_, {}));
  for (const GroupChange& change : std::exchange(postponed_, {})) {
    AnswerTo(context, change.caller.request, Status(kStopping));
  }
}

}  // namespace baton::core
