#include "core/leaderships.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/detection.h"

namespace baton::core {

// ---- what the view says ------------------------------------------------------------------------

void Leaderships::Reconcile(Context& context, const ViewChanges& changes) {
  members_changed_ = members_changed_ || changes.members;
  for (const ShardId shard : changes.shards) {
    const RecordFact& record = context.view.record(shard);
    const bool ours = context.session.member() && record.present &&
                      record.readability == Readability::kReadable &&
                      record.leader == context.self() && record.session == context.session.id();
    const auto found = held_.find(shard);
    if (found != held_.end() && (!ours || record.term() != found->second.term)) {
      Lose(context, shard, LossReason(context, shard));
    }
    if (!ours) continue;
    if (!held_.contains(shard)) Gain(context, shard, record);
    ConsiderMove(context, shard, held_.at(shard));
  }
}

Reason Leaderships::LossReason(const Context& context, ShardId shard) const {
  const RecordFact& record = context.view.record(shard);
  const bool overwritten = !record.present || record.readability != Readability::kReadable;
  return overwritten ? Reason::kOperator : record.reason;
}

void Leaderships::Gain(Context& context, ShardId shard, const RecordFact& record) {
  Held& held = held_[shard];
  held = Held{};
  held.term = record.term();
  held.gained_at = context.now;
  Transition transition{.shard = shard,
                        .reason = record.reason,
                        .from = record.previous,
                        .to = context.self(),
                        .term = record.term(),
                        .actor = record.actor,
                        .cause = record.cause};
  transition.elect = context.view.LastGap(shard);
  AddDetection(context, transition);
  held.unreported = transition;
  Begin(context, shard, held, record.reason);
}

// The first try. It waits if activations fail on this node; and if this shard failed here before,
// except by an operator's transfer, until Retry, which tries those shards after the others.
void Leaderships::Begin(Context& context, ShardId shard, Held& held, Reason reason) {
  const bool may = failed_.MayTryFirst(context.options);
  const bool last = reason != Reason::kOperator && failed_.FailedBefore(shard);
  if (context.options.has_listener && (!may || last)) {
    if (may) context.WakeAt(context.now);
    context.Do(SetLeadership{shard, held.term, false});
    return failed_.Wait(shard, last);
  }
  Activate(context, shard, held, reason);
  if (held.activation != 0) failed_.StartedFirst(shard, held.activation);
}

void Leaderships::Activate(Context& context, ShardId shard, Held& held, Reason reason) {
  held.activated = !context.options.has_listener;
  context.Do(SetLeadership{shard, held.term, held.activated});
  if (held.activated) return Report(context, held);
  held.activation = context.next_operation++;
  held.activation_deadline = context.now + context.options.callback_timeout;
  watched_.insert(shard);
  next_bound_ = std::min(next_bound_, held.activation_deadline);
  context.Do(RunCallback{held.activation, shard, CallbackKind::kAcquired, held.term, reason});
}

// Only while a success would count: the node leads, and its application is there.
void Leaderships::Retry(Context& context) {
  if (context.draining || !context.live() || !context.attached()) return;
  while (failed_.Ready(context)) {
    const ShardId shard = failed_.Next();
    Held& held = held_.at(shard);
    // Otherwise it is being given away; LeadAgain schedules it if that fails.
    if (!std::holds_alternative<Leading>(held.phase)) continue;
    const bool asked = failed_.TakeRetryNow(shard);
    Activate(context, shard, held, asked ? Reason::kOperator : context.view.record(shard).reason);
    failed_.Started(held.activation);
  }
  while (const std::optional<ShardId> shard = failed_.NextUntried(context)) {
    Held& held = held_.at(*shard);
    if (!std::holds_alternative<Leading>(held.phase)) continue;
    Activate(context, *shard, held, context.view.record(*shard).reason);
    failed_.StartedFirst(*shard, held.activation);
  }
}

void Leaderships::Activated(Context& context, ShardId shard, Held& held) {
  if (!std::holds_alternative<Releasing>(held.phase)) watched_.erase(shard);
  held.activation_deadline = TimePoint::max();
  failed_.Succeeded(context, shard, std::exchange(held.activation, 0));
  held.may_act = false;
  // It was being given away as a shard with nothing to release. If its write is out, that decides.
  if (!held.MayLead()) return;
  if (transfers_.Withdraw(shard) || resignations_.Withdraw(shard)) held.phase = Leading{};
  held.released = false;
  held.activated = true;
  context.Do(SetLeadership{shard, held.term, true});
  if (held.unreported) held.unreported->activate = context.now - held.gained_at;
  Report(context, held);
  ConsiderMove(context, shard, held);
}

// Leads() turns false before `lost` starts.
void Leaderships::Lose(Context& context, ShardId shard, Reason reason) {
  const auto found = held_.find(shard);
  if (found == held_.end()) return;
  Report(context, found->second);
  context.Do(SetLeadership{shard, Term{}, false});
  const bool transferred = found->second.Transfer() != 0 && context.session.member();
  if (transferred) ++counters_.moves_done;
  const auto* giving = std::get_if<Giving>(&found->second.phase);
  if (transferred && giving != nullptr) {
    context.Do(ReportHandoffPhase{"transfer", context.now - giving->since});
  }
  End(context, shard, found->second, reason);
  held_.erase(found);
  watched_.erase(shard);
  resignations_.Withdraw(shard);
}

// Ends what belongs to the leadership (its handoff, its retries), and begins `lost`. An earlier
// action of this step makes Leads() false.
void Leaderships::End(Context& context, ShardId shard, const Held& held, Reason reason) {
  transfers_.Withdraw(shard);
  failed_.Forget(shard);
  failed_.Left(held.activation);
  if (!context.options.has_listener) return;
  const OperationId operation = context.next_operation++;
  stopping_.Begin(shard, operation, context.now);
  context.Do(RunCallback{operation, shard, CallbackKind::kLost, held.term, reason});
}

// A node may hold tens of thousands of shards, so it looks at each once. All of them turn false
// before anything else is done.
void Leaderships::LoseAll(Context& context, Reason reason) {
  std::size_t next = context.actions.size();
  context.actions.reserve(next + 2 * held_.size());
  context.actions.resize(next + held_.size(), SetLeadership{ShardId{}, Term{}, false});
  for (auto& [shard, held] : held_) {
    std::get<SetLeadership>(context.actions[next++]).shard = shard;
    Report(context, held);
    End(context, shard, held, reason);
  }
  held_.clear();
  watched_.clear();
  transfers_.Clear(context);
  other_tries_.Clear();
  resignations_.Clear();
}

void Leaderships::SuspendAll(Context& context) {
  for (const auto& [shard, held] : held_) {
    context.Do(ReportTransition{Transition{.shard = shard,
                                           .reason = Reason::kSuspended,
                                           .from = context.self(),
                                           .to = {},
                                           .term = held.term}});
    if (!context.options.has_listener) continue;
    context.Do(RunCallback{context.next_operation++, shard, CallbackKind::kSuspended, held.term,
                           Reason::kSuspended});
  }
}

void Leaderships::ResumeAll(Context& context, Duration gap) {
  for (const auto& [shard, held] : held_) {
    Transition transition{.shard = shard,
                          .reason = Reason::kResumed,
                          .from = {},
                          .to = context.self(),
                          .term = held.term};
    transition.elect = gap;
    context.Do(ReportTransition{transition});
    if (!context.options.has_listener) continue;
    context.Do(RunCallback{context.next_operation++, shard, CallbackKind::kResumed, held.term,
                           Reason::kResumed});
  }
}

// ---- handing over ------------------------------------------------------------------------------

// A prepared move starts the release. If it disappears before its transfer is sent, the node leads
// on.
void Leaderships::ConsiderMove(Context& context, ShardId shard, Held& held) {
  const bool given = Transfers::StillGiven(context, shard, held);
  if (std::holds_alternative<Leading>(held.phase)) {
    if (!given) return;
    const bool early = context.now < held.give_not_before;
    const bool nothing = HasNothingToRelease(shard, held);
    if (early || !(held.activated || nothing) || !context.live() || !context.attached()) {
      waiting_.insert(shard);
      if (early) context.WakeAt(held.give_not_before);
      return;
    }
    if (nothing) return OfferUnactivated(context, shard, held);
    BeginRelease(context, shard, held, context.view.move(shard)->reason);
  } else if (std::holds_alternative<Released>(held.phase) && !given && !held.asked_to_resign) {
    LeadAgain(context, shard, held);
  }
}

void Leaderships::BeginRelease(Context& context, ShardId shard, Held& held, Reason reason) {
  Releasing releasing{.callback = 0,
                      .deadline = context.now + context.options.release_timeout,
                      .since = context.now};
  if (context.options.has_listener) {
    releasing.callback = context.next_operation++;
    context.Do(RunCallback{releasing.callback, shard, CallbackKind::kReleasing, held.term, reason});
  }
  held.phase = releasing;
  held.released = false;
  watched_.insert(shard);
  next_bound_ = std::min(next_bound_, releasing.deadline);
  if (!context.options.has_listener) FinishRelease(context, shard, held, true);
}

// `released`: the application says so; else it did not in time, or failed.
void Leaderships::FinishRelease(Context& context, ShardId shard, Held& held, bool released) {
  const auto& releasing = std::get<Releasing>(held.phase);
  context.Do(ReportHandoffPhase{"release", context.now - releasing.since});
  held.released = released;
  if (held.asked_to_resign) {
    held.phase = Released{};
    return;
  }
  if (!released && context.view.failover().lock_delay.count() > 0) {
    held.phase = Released{};
    resignations_.AddUnreleased(shard);
    return;
  }
  Offer(context, shard, held);
  if (!Transfers::StillGiven(context, shard, held)) LeadAgain(context, shard, held);
}

// There is nothing to release, unless an `acquired` that is late still runs.
void Leaderships::OfferUnactivated(Context& context, ShardId shard, Held& held) {
  held.released = !failed_.Late(shard) && !held.may_act;
  if (held.released || context.view.failover().lock_delay.count() == 0) {
    return Offer(context, shard, held);
  }
  held.phase = Released{};
  resignations_.AddUnreleased(shard);
}

// The shard goes with the next transfer.
void Leaderships::Offer(Context& context, ShardId shard, Held& held) {
  held.phase = Released{};
  transfers_.Offer(context, shard);
}

// The application was asked to release the shard, so now it is asked to take it up again, with the
// same term. If it failed to take it up, it waits for its next try.
void Leaderships::LeadAgain(Context& context, ShardId shard, Held& held) {
  transfers_.Withdraw(shard);
  resignations_.Withdraw(shard);
  held.phase = Leading{};
  held.asked_to_resign = held.released = false;
  waiting_.insert(shard);
  const bool untried = !held.activated && held.activation == 0 && !failed_.Has(shard);
  if (untried) return Begin(context, shard, held, context.view.record(shard).reason);
  if (!failed_.Has(shard)) return Activate(context, shard, held, Reason::kResumed);
  context.Do(SetLeadership{shard, held.term, false});
  if (!failed_.Waits(shard)) failed_.Schedule(context, shard);
}

// Those whose moves are gone are led again.
void Leaderships::SubmitTransfers(Context& context) {
  while (true) {
    const std::vector<ShardId> not_given = transfers_.Submit(context, held_);
    if (not_given.empty()) return;
    for (const ShardId shard : not_given) {
      Held& held = held_.at(shard);
      if (!Transfers::StillGiven(context, shard, held)) {
        LeadAgain(context, shard, held);
      } else {
        transfers_.Withdraw(shard);
        resignations_.AddUnreleased(shard);
      }
    }
  }
}

void Leaderships::ResignAll(Context& context, Reason reason, bool ask) {
  const std::size_t most = resignations_.Room();
  std::vector<ShardId> shards;
  for (auto& [shard, held] : held_) {
    if (shards.size() == most) break;
    if (!held.MayLead()) continue;
    if (context.now < held.resign_not_before) {
      context.WakeAt(held.resign_not_before);
      continue;
    }
    if (HasNothingToRelease(shard, held)) {
      held.released = !failed_.Late(shard) && !held.may_act;
    } else if (ask || context.options.external) {
      AskToResign(context, shard, held, reason);
      if (!held.asked_to_resign || !std::holds_alternative<Released>(held.phase)) continue;
    }
    shards.push_back(shard);
  }
  resignations_.Submit(context, held_, transfers_, shards, reason);
}

// Leads() does not reach another process, so that process has to answer that it stopped. With a
// failover policy the record says whether any application did. A shard that is still activating
// first finishes that, or exceeds its timeout.
void Leaderships::AskToResign(Context& context, ShardId shard, Held& held, Reason reason) {
  if (!held.activated || held.asked_to_resign) return;
  held.asked_to_resign = true;
  if (std::holds_alternative<Leading>(held.phase)) BeginRelease(context, shard, held, reason);
  transfers_.Withdraw(shard);
}

// Callbacks that started meanwhile get their whole timeout, not more.
void Leaderships::PushBounds(Context& context, Duration away) {
  const CoreOptions& options = context.options;
  for (const ShardId shard : watched_) {
    const auto found = held_.find(shard);
    if (found == held_.end()) continue;
    Held& held = found->second;
    if (held.activation != 0 && held.activation_deadline != TimePoint::max())
      held.activation_deadline =
          std::min(held.activation_deadline + away, context.now + options.callback_timeout);
    if (auto* releasing = std::get_if<Releasing>(&held.phase); releasing != nullptr)
      releasing->deadline =
          std::min(releasing->deadline + away, context.now + options.release_timeout);
  }
  next_bound_ = context.now;
}

// `acquired` failed. The transition is reported without its duration; the shard can be given away.
void Leaderships::NotActivated(Context& context, ShardId shard, Held& held,
                               const std::string& error) {
  held.activation_deadline = TimePoint::max();
  held.may_act = context.options.external && !held.MayLead();
  failed_.Failed(context, shard, {std::exchange(held.activation, 0), error});
  Report(context, held);
  ConsiderMove(context, shard, held);
}

// ---- events ------------------------------------------------------------------------------------

bool Leaderships::On(Context& context, const CallbackReturned& event) {
  failed_.Returned(event.operation);
  if (stopping_.Returned(event.operation)) {
    if (!event.ok) ++counters_.callbacks_failed;
    return true;
  }
  const auto found = held_.find(event.shard);
  if (found == held_.end()) return false;
  Held& held = found->second;
  if (held.activation != 0 && held.activation == event.operation) {
    if (event.ok) {
      Activated(context, event.shard, held);
    } else {
      ++counters_.callbacks_failed;
      NotActivated(context, event.shard, held, event.error);
    }
    return true;
  }
  const auto* releasing = std::get_if<Releasing>(&held.phase);
  if (releasing == nullptr || releasing->callback != event.operation) return false;
  if (!event.ok) ++counters_.callbacks_failed;
  FinishRelease(context, event.shard, held, event.ok);
  return true;
}

void Leaderships::On(Context& context, OperationId operation, const Write& write,
                     const WriteResult& result) {
  transfers_.Answered(operation);
  resignations_.Answered(operation);
  std::vector<ShardId> shards;
  if (const auto* batch = std::get_if<TransferBatch>(&write)) {
    for (const Transfer& transfer : batch->transfers) shards.push_back(transfer.shard);
  } else if (const auto* abandons = std::get_if<AbandonBatch>(&write)) {
    for (const Abandon& abandon : abandons->abandons) shards.push_back(abandon.shard);
  } else {
    for (const baton::Resign& resign : std::get<ResignBatch>(write).resigns) {
      shards.push_back(*resign.shard);
    }
  }
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const Outcome outcome = i < result.items.size() ? result.items[i] : result.outcome;
    Settle(context, shards[i], outcome, operation);
  }
  if (std::holds_alternative<AbandonBatch>(write)) transfers_.DropDecided(context, held_);
}

// The read-back was merged and reconciled before. So a shard that is still held kept its term: a
// write that was refused was not applied and never will be, because it compares our record's
// revision. An abandon that is done has made the transfer's guard false for ever.
void Leaderships::Settle(Context& context, ShardId shard, Outcome outcome, OperationId operation) {
  const auto found = held_.find(shard);
  if (found == held_.end() || outcome == Outcome::kUnknown) return;
  Held& held = found->second;
  if (const auto* abandoning = std::get_if<Abandoning>(&held.phase);
      abandoning != nullptr && abandoning->write == operation) {
    held.give_not_before = context.now + 2 * kMinRetryPause;
    if (outcome == Outcome::kDone) return LeadAgain(context, shard, held);
    held.phase = Giving{abandoning->transfer, context.now};  // denied: the transfer decides
    return;
  }
  if (outcome != Outcome::kRefused) return;
  if (held.Transfer() == operation) {
    // If an abandon is in flight, it deletes a later move of this leadership at worst.
    ++counters_.moves_refused;
    held.give_not_before = context.now + 2 * kMinRetryPause;
    LeadAgain(context, shard, held);
  } else if (const auto* resigning = std::get_if<Resigning>(&held.phase);
             resigning != nullptr && resigning->write == operation) {
    // Otherwise, as long as etcd denies it, the shard would be resigned at once again, and the
    // application asked to take it up again.
    held.resign_not_before = held.give_not_before = context.now + 2 * kMinRetryPause;
    LeadAgain(context, shard, held);
  }
}

void Leaderships::Advance(Context& context) {
  CheckBounds(context);
  failed_.Advance(context);
  ConsiderWaitingMoves(context);
  Retry(context);
  other_tries_.Advance(context, held_, failed_);
  transfers_.GiveUp(context, held_);
  SubmitTransfers(context);
  resignations_.SubmitUnreleased(context, held_, transfers_);
}

// Moves wait here if they came while the shard activated or the session was suspended.
void Leaderships::ConsiderWaitingMoves(Context& context) {
  std::set<ShardId> shards = std::exchange(waiting_, {});
  if (std::exchange(members_changed_, false)) {
    for (const auto& [shard, move] : context.view.moves()) shards.insert(shard);
  }
  for (const ShardId shard : shards) {
    const auto found = held_.find(shard);
    if (found != held_.end()) ConsiderMove(context, shard, found->second);
  }
}

void Leaderships::CheckBounds(Context& context) {
  if (!context.attached()) return;  // no answer can arrive, so none can be late
  if (context.now < next_bound_) return context.WakeAt(next_bound_);
  next_bound_ = TimePoint::max();
  std::vector<ShardId> late;
  for (auto next = watched_.begin(); next != watched_.end();) {
    const ShardId shard = *next;
    const auto found = held_.find(shard);
    if (found == held_.end()) {
      next = watched_.erase(next);
      continue;
    }
    ++next;
    Held& held = found->second;
    if (held.activation != 0) {
      if (context.now >= held.activation_deadline) {
        late.push_back(shard);
      } else {
        next_bound_ = std::min(next_bound_, held.activation_deadline);
      }
    }
    if (const auto* releasing = std::get_if<Releasing>(&held.phase)) {
      if (context.now < releasing->deadline) {
        next_bound_ = std::min(next_bound_, releasing->deadline);
        continue;
      }
      ++counters_.callbacks_timed_out;
      if (!held.asked_to_resign) ++counters_.moves_timed_out;
      const bool resigns = held.asked_to_resign || context.view.failover().lock_delay.count() > 0;
      context.Say(Notice::Level::kWarning,
                  "shard " + std::to_string(shard.value) + ": releasing timed out; this node " +
                      (resigns ? "resigns the shard" : "hands the shard over") + " all the same");
      FinishRelease(context, shard, held, false);
    } else if (held.activation == 0) {
      watched_.erase(shard);
    }
  }
  context.WakeAt(next_bound_);
  for (const ShardId shard : late) {
    ++counters_.callbacks_timed_out;
    Held& held = held_.at(shard);
    held.activation_deadline = TimePoint::max();
    failed_.Late(context, shard, held.activation);
    Report(context, held);
    ConsiderMove(context, shard, held);
  }
}

}  // namespace baton::core
