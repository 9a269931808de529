#include "core/core.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace baton::core {
namespace {

constexpr int kRevokeAttempts = 3;  // then the lease is left to expire
// then etcd must be away, and the lease expires
constexpr Duration kResignBound = std::chrono::seconds(5);

std::string Number(std::int64_t value) { return std::to_string(value); }

}  // namespace

Core::Core(CoreOptions options)
    : options_(std::move(options)),
      view_(options_.shards, options_.self.node),
      session_(options_, &next_operation_),
      application_(options_.external ? ApplicationState::kAbsent : ApplicationState::kAttached),
      highest_committed_(options_.highest_committed),
      seen_(options_.shards) {
  session_.SetWanted(!options_.external);
  BATON_CHECK(options_.shards > 0);
  BATON_CHECK(options_.random != nullptr);
  BATON_CHECK(!options_.self.node.empty());
}

Output Core::Step(TimePoint now, const Event& event) {
  changed_ = Touched{};
  Output output;
  Context context{.now = now,
                  .options = options_,
                  .view = view_,
                  .session = session_,
                  .next_operation = next_operation_,
                  .writes = writes_,
                  .actions = output.actions,
                  .wake_at = output.wake_at,
                  .draining = draining_ || halted_.has_value(),
                  .application = application_};
  Record(context, event);
  Advance(context);
  for (const Action& action : output.actions) {
    if (const auto* write = std::get_if<SubmitWrite>(&action)) {
      committed_before_.try_emplace(write->operation, highest_committed_);
    } else if (const auto* confirm = std::get_if<ConfirmSession>(&action)) {
      committed_before_.try_emplace(confirm->operation, highest_committed_);
    }
  }
  return output;
}

// ---- record ------------------------------------------------------------------------------------

void Core::Record(Context& context, const Event& event) {
  const TimePoint now = context.now;
  if (const auto* changes = std::get_if<ChangesSeen>(&event)) {
    view_.Merge(changes->changes, now);
    watch_proven_ = std::max(watch_proven_, changes->changes.revision);
  } else if (const auto* snapshot = std::get_if<SnapshotRead>(&event)) {
    RecordSnapshot(context, *snapshot);
  } else if (const auto* proven = std::get_if<WatchProven>(&event)) {
    watch_proven_ = std::max(watch_proven_, proven->revision);
  } else if (const auto* write = std::get_if<WriteAnswered>(&event)) {
    RecordWrite(context, *write);
  } else if (const auto* confirm = std::get_if<ConfirmAnswered>(&event)) {
    RecordConfirm(context, *confirm);
  } else if (const auto* granted = std::get_if<LeaseGranted>(&event)) {
    session_.On(*granted, now);
    if (granted->outcome == Outcome::kDone && granted->ttl != options_.ttl) {
      context.Say(Notice::Level::kWarning, "etcd granted a TTL of " + Number(granted->ttl.count()) +
                                               " s instead of the " + Number(options_.ttl.count()) +
                                               " s requested; the granted TTL is used");
    }
  } else if (const auto* revoked = std::get_if<LeaseRevoked>(&event)) {
    session_.On(*revoked, now);
  } else if (const auto* answered = std::get_if<KeepAliveAnswered>(&event)) {
    session_.On(*answered, now);
  } else if (const auto* ended = std::get_if<KeepAliveEnded>(&event)) {
    session_.On(*ended, now);
  } else if (const auto* returned = std::get_if<CallbackReturned>(&event)) {
    if (!leaderships_.On(context, *returned)) prepares_.On(context, *returned);
  } else if (const auto* transfer = std::get_if<TransferAsked>(&event)) {
    Ask(context, *transfer);
  } else if (const auto* policy = std::get_if<PolicyAsked>(&event)) {
    Ask(context, *policy);
  } else if (const auto* changed = std::get_if<ApplicationChanged>(&event)) {
    RecordApplication(context, *changed);
  } else if (std::holds_alternative<DrainAsked>(event)) {
    if (!draining_) drain_deadline_ = now + options_.drain_timeout;
    draining_ = true;
    context.draining = true;
    session_.SetState(MemberState::kDraining);
  } else if (std::holds_alternative<StopAsked>(event)) {
    draining_ = true;
    context.draining = true;
    drain_deadline_ = now;
    resigned_all_at_ = now - kResignBound;
  }
}

void Core::RecordSnapshot(Context& context, const SnapshotRead& event) {
  cluster_id_ = event.cluster_id;
  view_.Merge(event.snapshot, context.now);
  watch_proven_ = std::max(watch_proven_, event.snapshot.revision);
  read_at_ = context.now;
}

// If a commit has a lower revision than an earlier commit that was known when this one was sent,
// the store went back in time: a backup was restored under the same addresses.
void Core::NoteCommit(Context& context, Revision revision, OperationId operation) {
  const auto before = committed_before_.find(operation);
  const Revision floor = before != committed_before_.end() ? before->second : Revision{};
  if (before != committed_before_.end()) committed_before_.erase(before);
  if (revision.value == 0) return;
  if (revision < floor) {
    return Halt(context, ErrorCode::kFailedPrecondition,
                "etcd went back in time: a commit of ours had revision " + Number(floor.value) +
                    ", and a later one has " + Number(revision.value) +
                    context.options.went_back_advice);
  }
  highest_committed_ = std::max(highest_committed_, revision);
}

void Core::RecordWrite(Context& context, const WriteAnswered& event) {
  view_.Merge(event.result.read_back, context.now);
  // Session and leaderships follow the read-back first: what the answer means for a shard depends
  // on what is known now.
  const bool ours = session_.On(event, context.now);
  CheckSession(context);
  if (event.result.outcome != Outcome::kUnknown) {
    NoteCommit(context, event.result.revision, event.operation);
  }
  if (ours || halted_) return;
  const bool sent_once = !writes_.Unknown(event.operation);
  const std::shared_ptr<const Write> write = writes_.Settle(event, context.now);
  if (!write) return;
  NoteTouched(context);
  if (config_write_ && *config_write_ == event.operation) {
    config_write_.reset();
    config_not_before_ = context.now + kRetryMost;
  } else if (AnswerRequest(context, event.operation, *write, event.result, sent_once) ||
             leaderships_.On(context, event.operation, *write, event.result) ||
             prepares_.On(context, event.operation, *write, event.result.outcome) ||
             succession_.On(context, event.operation, *write, event.result)) {
    return;
  } else {
    balancer_.On(context, event.operation, event.result.outcome);
  }
}

void Core::RecordConfirm(Context& context, const ConfirmAnswered& event) {
  view_.Merge(event.read_back, context.now);
  session_.On(event, context.now);
  if (event.outcome != Outcome::kDone) {
    committed_before_.erase(event.operation);
    return;
  }
  NoteCommit(context, event.revision, event.operation);
  if (event.revision > watch_proven_) {
    watch_floor_ = std::max(watch_floor_, event.revision);
    if (watch_behind_since_ == TimePoint::max()) watch_behind_since_ = context.now;
    context.Do(ProbeWatch{});
  }
}

// An absent application acts on nothing, so the session ends at once and its lease is revoked. The
// others notice that sooner than they could take over the shards one by one.
void Core::RecordApplication(Context& context, const ApplicationChanged& event) {
  if (!options_.external || event.state == application_) return;
  const bool back = application_ == ApplicationState::kDetached;
  context.application = application_ = event.state;
  session_.SetWanted(event.state != ApplicationState::kAbsent);
  if (event.state == ApplicationState::kDetached) detached_at_ = context.now;
  if (event.state == ApplicationState::kAttached && back) {
    leaderships_.PushBounds(context, context.now - detached_at_);
    prepares_.PushBounds(context.now - detached_at_);
  }
  if (event.state != ApplicationState::kAbsent || closing_ || halted_) return;
  if (session_.member()) {
    context.Say(
        Notice::Level::kWarning,
        "no application is attached any more: this node gives up all shards and ends its session");
  }
  EndSession(context);
}

// ---- advance -----------------------------------------------------------------------------------

void Core::Advance(Context& context) {
  // The view is still merged, and its changes are still reported: callers may follow routes here.
  if (finished_) return changed_.Add(view_.TakeTouched());
  if (!halted_) CheckConfig(context);
  CheckSession(context);
  CheckWatch(context);
  // No session opens before the group's config is known.
  const bool opens = view_.config().present && !halted_;
  if (opens || session_.member() || closing_) {
    session_.Advance(context.now, view_, context.actions, context.wake_at);
  }
  if (halted_) return AdvanceDrain(context);  // takes nothing new, and writes nothing more
  CheckSuspension(context);
  NoteTouched(context);
  prepares_.Advance(context);
  leaderships_.Advance(context);
  succession_.Advance(context, leaderships_);
  balancer_.Advance(context);
  if (draining_) AdvanceDrain(context);
  writes_.Advance(context.now, context.actions, context.wake_at);
}

void Core::NoteTouched(Context& context) {
  Touched touched = view_.TakeTouched();
  leaderships_.Reconcile(context, touched);
  NoteRecords(context, touched);
  prepares_.Note(touched);
  succession_.Note(touched);
  balancer_.Note(touched);
  changed_.Add(std::move(touched));
}

void Core::Halt(Context& context, ErrorCode code, std::string message) {
  if (halted_) return;
  halted_ = Error{code, std::move(message)};
  context.draining = true;
  context.Do(SetDeadline{TimePoint::min()});
  published_deadline_ = TimePoint::min();
  GiveUpAll(context);
  DropRequests(context);
  context.Do(HaltNode{*halted_});
}

void Core::CheckConfig(Context& context) {
  if (!view_.complete()) return;
  if (session_.refused())
    return Halt(context, session_.refused()->code, session_.refused()->message);
  const ConfigFact& config = view_.config();
  if (!config.present) return WriteConfig(context, cluster_id_);
  const std::string group = "group config: ";
  if (config.readability == Readability::kNewerSchema || config.schema > kSchema) {
    return Halt(context, ErrorCode::kFailedPrecondition,
                group + "written by a newer version (schema " + Number(config.schema) +
                    ", this one knows " + Number(kSchema) + "); update this node");
  }
  if (config.readability == Readability::kDamaged) {
    return Halt(
        context, ErrorCode::kFailedPrecondition,
        group +
            "the key can't be read; restore it, or delete it and the nodes will write it again");
  }
  if (config.cluster_id == 0) {
    return Halt(context, ErrorCode::kFailedPrecondition,
                group +
                    "closed by a recovery that has not finished: run the same batonctl "
                    "recover again, then start the nodes");
  }
  if (config.shards != options_.shards) {
    return Halt(context, ErrorCode::kFailedPrecondition,
                group + "the group has " + Number(config.shards) + " shards, this node was given " +
                    Number(options_.shards) + "; the count is fixed at creation: use --shards " +
                    Number(config.shards));
  }
  if (config.hash != options_.hash) {
    return Halt(context, ErrorCode::kFailedPrecondition,
                group + "the group uses hash '" + ToString(config.hash) +
                    "', this node was given '" + ToString(options_.hash) +
                    "'; the hash is fixed at creation");
  }
  if (cluster_id_ != 0 && config.cluster_id != cluster_id_) {
    return Halt(
        context, ErrorCode::kFailedPrecondition,
        group + "the group belongs to etcd cluster " + std::to_string(config.cluster_id) +
            ", but cluster " + std::to_string(cluster_id_) +
            " answers; check --etcd (if the cluster was rebuilt on purpose, stop all nodes and "
            "run batonctl recover)");
  }
}

void Core::WriteConfig(Context& context, std::uint64_t cluster_id) {
  if (config_write_) return;
  if (context.now < config_not_before_) return context.WakeAt(config_not_before_);
  ConfigFact config;
  config.present = true;
  config.shards = options_.shards;
  config.hash = options_.hash;
  config.schema = kSchema;
  config.cluster_id = cluster_id;
  config_write_ = context.Submit(ConfigCreate{config});
}

void Core::CheckSession(Context& context) {
  if (!session_.LostBy(view_)) return;
  context.Say(Notice::Level::kError,
              "session lost: its lease or member key is gone; this node gives up all shards and "
              "begins a new session");
  EndSession(context);
}

void Core::EndSession(Context& context) {
  context.Do(SetDeadline{TimePoint::min()});
  published_deadline_ = TimePoint::min();
  suspended_at_.reset();
  writes_.DropOfSession();
  std::erase_if(committed_before_, [&](const auto& entry) { return !writes_.Has(entry.first); });
  config_write_.reset();
  session_.Lose(context.now);
  leaderships_.LoseAll(context, Reason::kLeaseExpired);
  prepares_.Clear();
  succession_.Clear();
  balancer_.Clear();
}

// For the end of this node. A process that can't be asked whether it stopped may act on its shards
// until the last deadline it was sent. Then the lease must be left to expire, and only that gives
// the shards to others.
void Core::GiveUpAll(Context& context) {
  const bool may_act = options_.external && application_ != ApplicationState::kAbsent;
  leave_lease_ = leave_lease_ || (may_act && !leaderships_.held().empty());
  leaderships_.LoseAll(context, Reason::kShutdown);
}

// Publishes the deadline before any callback reports it; Leads() has followed the clock already.
void Core::CheckSuspension(Context& context) {
  if (halted_) return;
  const TimePoint deadline = session_.deadline();
  if (deadline != published_deadline_) {
    published_deadline_ = deadline;
    context.Do(SetDeadline{deadline});
  }
  if (deadline == TimePoint::min()) return;
  if (context.live()) {
    context.WakeAt(deadline);
    if (!suspended_at_) return;
    leaderships_.ResumeAll(context, context.now - *suspended_at_);
    context.Say(Notice::Level::kInfo,
                "resumed: a renewal was confirmed; this node leads again with the same terms");
    suspended_at_.reset();
  } else if (!suspended_at_) {
    suspended_at_ = deadline;
    context.Say(
        Notice::Level::kWarning,
        "suspended: no renewal was confirmed in time; this node leads nothing until one is");
    leaderships_.SuspendAll(context);
  }
}

// Reopens a watch that stands still below a confirmed revision. A watch that advances is never
// reopened for being late.
void Core::CheckWatch(Context& context) {
  if (watch_behind_since_ != TimePoint::max()) {
    const TimePoint reopen_at = watch_behind_since_ + kWatchStandsStill;
    if (watch_proven_ >= watch_floor_) {
      watch_behind_since_ = TimePoint::max();
    } else if (context.now >= reopen_at) {
      watch_behind_since_ = context.now;
      context.Say(Notice::Level::kWarning,
                  "the watch stands still at revision " + Number(watch_proven_.value) + " below " +
                      Number(watch_floor_.value) + "; opening it on another endpoint");
      context.Do(ReopenWatch{});
    } else {
      context.WakeAt(reopen_at);
    }
  }
  if (!view_.complete()) return;
  // Without a session there are no confirmations to compare the watch with, so the view is read
  // again.
  const Duration every = session_.member() ? kAuditEvery : Duration(options_.ttl);
  if (context.now >= read_at_ + every) {
    read_at_ = context.now;
    context.Do(AuditView{});
  }
  context.WakeAt(read_at_ + every);
}

bool Core::OthersCanLead(const Context& context) const {
  return std::any_of(view_.members().begin(), view_.members().end(), [&](const auto& entry) {
    const auto& [node, member] = entry;
    return node != context.self() && member.Live() && member.weight > 0 && !view_.Draining(member);
  });
}

// Hands over the shards that have a target, resigns the rest, then ends the session.
void Core::AdvanceDrain(Context& context) {
  if (!closing_ && !halted_ && session_.member()) {
    const bool late = context.now >= drain_deadline_;
    // If an application was asked to release shards, that goes on even if another node appears.
    const bool resigns = late || !OthersCanLead(context) || leaderships_.Resigns();
    if (!leaderships_.held().empty() && resigns) {
      if (late) drained_ = false;
      // The time limit starts again with every progress: many shards take many batches.
      const std::size_t left = leaderships_.held().size();
      const bool progress = left < left_to_resign_ || leaderships_.Asking(context);
      if (!resigned_all_at_ || progress) resigned_all_at_ = context.now;
      left_to_resign_ = left;
      leaderships_.ResignAll(context, Reason::kShutdown);  // also shards gained since the last step
    }
    const bool gave_up = resigned_all_at_ && context.now >= *resigned_all_at_ + kResignBound;
    if (!leaderships_.held().empty() && !gave_up) {
      context.WakeAt(resigned_all_at_ ? *resigned_all_at_ + kResignBound : drain_deadline_);
      return;
    }
    if (!leaderships_.held().empty()) drained_ = false;
    balancer_.Resign(context);
  }
  if (!closing_) {
    closing_ = true;
    context.Do(SetDeadline{TimePoint::min()});
    published_deadline_ = TimePoint::min();
    // If resigning was given up, etcd is away: one more try to revoke, then the lease is left to
    // expire. But if the drain was only late and etcd answered, all tries are made.
    const bool gave_up = !leaderships_.held().empty();
    GiveUpAll(context);
    session_.Close(context.now, leave_lease_ ? 0 : gave_up ? 1 : kRevokeAttempts);
    session_.Advance(context.now, view_, context.actions, context.wake_at);
  }
  if (!session_.closed()) return;
  finished_ = true;
  DropRequests(context);
  context.Do(Finished{drained_ && !halted_, session_.lease_left() || !view_.complete()});
}

// Reports what no other part of the core reports: damaged records, and what other nodes lead now.
void Core::NoteRecords(Context& context, const Touched& touched) {
  seen_.Begin(view_);
  for (const ShardId shard : touched.shards) {
    const RecordFact& record = view_.record(shard);
    if (record.present && record.readability != Readability::kReadable) {
      NoteDamage(context, shard, record);
      continue;
    }
    std::optional<Transition> seen = seen_.Look(view_, shard);
    // The node's own gain is reported once it is activated, with its duration.
    const auto held = leaderships_.held().find(shard);
    const bool ours = held != leaderships_.held().end() && held->second.term == record.term();
    if (seen && !ours) context.Do(SeeTransition{*std::move(seen)});
  }
}

void Core::NoteDamage(Context& context, ShardId shard, const RecordFact& record) {
  if (std::exchange(damage_said_[shard], record.revision) == record.revision) return;
  ++quarantined_;
  const bool newer = record.readability == Readability::kNewerSchema;
  context.Say(Notice::Level::kError,
              "the record of shard " + Number(shard.value) + " at revision " +
                  Number(record.revision.value) +
                  (newer ? " is of a newer schema; this node leaves it alone: update this node"
                         : " can't be read; its bytes will be kept under quarantine/, and it will "
                           "be replaced"));
}

}  // namespace baton::core
