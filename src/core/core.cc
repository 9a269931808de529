#include "core/core.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/replica_choice.h"

namespace baton::core {
namespace {

constexpr int kRevokeAttempts = 3;  // then the lease is left to expire

// Nodes often start, or lose their sessions, at the same time. So that they don't read everything
// at the same time, too, each has its own interval: three quarters of `every`, or more.
Duration OwnInterval(const NodeId& node, Duration every) {
  constexpr int kParts = 1009;
  return every - every / (4 * kParts) * static_cast<std::int64_t>(HashOfNode(node) % kParts);
}

std::string Number(std::int64_t value) { return std::to_string(value); }

}  // namespace

Core::Core(CoreOptions options)
    : options_(std::move(options)),
      view_(options_.shards, options_.self.node),
      session_(options_, &next_operation_),
      commits_(options_.highest_committed),
      application_(options_.external),
      work_(options_.shards) {
  BATON_CHECK(options_.shards > 0);
  BATON_CHECK(options_.random != nullptr);
  BATON_CHECK(!options_.self.node.empty());
  for (const SessionId session : options_.stopped_sessions) view_.NoteStopped(session);
}

Output Core::Step(TimePoint now, const Event& event) {
  changed_ = ViewChanges{};
  Output output;
  Context context{.now = now,
                  .options = options_,
                  .view = view_,
                  .session = session_,
                  .next_operation = next_operation_,
                  .writes = writes_,
                  .actions = output.actions,
                  .wake_at = output.wake_at,
                  .draining = draining(),
                  .ended = halted().has_value() || finished(),
                  .application = application_.state()};
  std::visit([&](const auto& happened) { Record(context, happened); }, event);
  Advance(context);
  commits_.NoteSent(output.actions);
  return output;
}

// ---- record ------------------------------------------------------------------------------------

void Core::Record(Context& context, const SnapshotRead& event) {
  config_.NoteCluster(event.cluster_id);
  if (!view_.complete()) commits_.NoteFirstRead(event.snapshot.revision);
  view_.Merge(event.snapshot, context.now);
  watch_.Reach(event.snapshot.revision, context.now);
  watch_.NoteRead(context.now);
}

void Core::Record(Context& context, const ChangesSeen& event) {
  view_.Merge(event.changes, context.now);
  watch_.Reach(event.changes.revision, context.now);
}

void Core::Record(Context& context, const WatchProven& event) {
  watch_.Reach(event.revision, context.now);
}

// A lower revision than what was known when it was asked: a backup was restored, or etcd was wiped.
void Core::Record(Context& context, const RevisionAnswered& event) {
  if (event.revision < event.known) return context.Do(AuditView{});
  if (watch_.Require(event.revision, context.now)) context.Do(ProbeWatch{watch_.required()});
}

void Core::Record(Context& context, const LeaseGranted& event) {
  session_.On(event, context.now);
  if (event.outcome == Outcome::kDone && event.ttl != options_.ttl) {
    context.Say(Notice::Level::kWarning, "etcd granted a TTL of " + Number(event.ttl.count()) +
                                             " s instead of the " + Number(options_.ttl.count()) +
                                             " s requested; the granted TTL is used");
  }
}

void Core::Record(Context& context, const LeaseRevoked& event) { session_.On(event, context.now); }

void Core::Record(Context& context, const KeepAliveAnswered& event) {
  session_.On(event, context.now);
}

void Core::Record(Context& context, const KeepAliveEnded& event) {
  session_.On(event, context.now);
}

void Core::Record(Context& context, const ConfirmAnswered& event) {
  view_.Merge(event.read_back, context.now);
  session_.On(event, context.now);
  if (event.outcome != Outcome::kDone) return commits_.Forget(event.operation);
  commits_.NoteCommitted(event.operation, event.revision);
  if (watch_.Require(event.revision, context.now)) context.Do(ProbeWatch{watch_.required()});
}

void Core::Record(Context& context, const WriteAnswered& event) {
  view_.Merge(event.result.read_back, context.now);
  // Session and leaderships follow the read-back first: what the answer means for a shard depends
  // on what is known now.
  const bool of_session = session_.On(event, context.now);
  CheckSession(context);
  if (event.result.outcome != Outcome::kUnknown) {
    commits_.NoteCommitted(event.operation, event.result.revision);
  }
  if (of_session || halted() || commits_.went_back()) return;
  const std::optional<PendingWrites::Settled> settled = writes_.Settle(event, context.now);
  if (!settled) return;
  NoteViewChanges(context);
  if (work_.On(context, event.operation, *settled, event.result)) {
    // an abandon may have dropped a transfer
    if (std::holds_alternative<AbandonBatch>(*settled->write)) commits_.ForgetAllBut(writes_);
  } else if (settled->owner == WriteOwner::kConfig) {
    config_.On(context.now);
  } else {
    requests_.On(event.operation, *settled, event.result);
  }
}

void Core::Record(Context& context, const CallbackReturned& event) { work_.On(context, event); }

void Core::Record(Context&, const TransferRequested& event) { requests_.On(event); }
void Core::Record(Context&, const PolicyRequested& event) { requests_.On(event); }
void Core::Record(Context&, const RetryRequested& event) { requests_.On(event); }
void Core::Record(Context&, const GroupChangeRequested& event) { requests_.On(event); }
void Core::Record(Context&, const ReleaseRequested& event) { requests_.On(event); }
void Core::Record(Context&, const NodeChangeRequested& event) { requests_.On(event); }

void Core::Record(Context& context, const ApplicationChanged& event) {
  application_.On(event, context.now);
  context.application = application_.state();
}

void Core::Record(Context& context, const HealthChanged& event) {
  if (session_.healthy() == event.healthy) return;
  session_.SetHealthy(event.healthy);
  context.Say(event.healthy ? Notice::Level::kInfo : Notice::Level::kWarning,
              event.healthy
                  ? "the application is healthy again: this node takes shards"
                  : "the application is not healthy: other nodes take the shards, if any can");
}

void Core::Record(Context&, const StandbysReadySaid& event) {
  for (const StandbyReadySaid& word : event.words) work_.On(word);
}

void Core::Record(Context& context, const DrainRequested&) {
  lifecycle_.Drain(context.now + options_.drain_timeout);
  context.draining = true;
  session_.SetState(MemberState::kDraining);
}

void Core::Record(Context& context, const StopRequested&) {
  lifecycle_.Stop(context.now);
  context.draining = true;
}

void Core::Record(Context&, const Tick&) {}

// ---- advance -----------------------------------------------------------------------------------

void Core::Advance(Context& context) {
  CheckStore(context);
  CheckApplication(context);
  // Before all that follows, because the node may end below: it drops only requests whose writes
  // are pending. And even if the node has finished, because each request is answered.
  requests_.Advance(context, work_.leaderships());
  // The member record follows in this step if there is a session; a later session begins with it.
  if (auto settings = requests_.TakeNodeSettings()) {
    options_.self.weight = settings->weight;
    options_.self.labels = std::move(settings->labels);
  }
  if (view_.ContinueStandbys()) context.WakeAt(context.now);
  // The view is still merged, and its changes are still reported: callers may follow routes here.
  if (finished()) return changed_.Add(view_.TakeChanges());
  if (watch_.reached() >= session_.confirmed_revision()) {
    view_.NoteCurrent(session_.last_renewed());
  }
  if (!halted()) CheckConfig(context);
  CheckSession(context);
  CheckWatch(context);
  session_.SetWanted(WantsSession());
  // No session opens before the group's config is known, and fits.
  const bool opens = config_.fits() && !halted();
  if (opens || session_.member() || lifecycle_.closing()) {
    session_.Advance(context.now, view_, context.actions, context.wake_at);
  }
  if (halted()) return AdvanceEnd(context);  // takes nothing new, and writes nothing more
  work_.AdvanceDeadline(context);
  NoteViewChanges(context);
  work_.Advance(context, session_);
  AdvanceEnd(context);
  writes_.Advance(context.now, context.actions, context.wake_at);
}

void Core::CheckStore(Context& context) {
  if (const auto& older = view_.went_back()) {
    Halt(context, {ErrorCode::kFailedPrecondition,
                   "etcd went back in time: a key had revision " + Number(older->known.value) +
                       ", and a later read found it at revision " + Number(older->found.value) +
                       "; a backup was restored with its revision raised while this node ran: stop "
                       "all nodes of the group, then start them again"});
  }
  if (const auto& commit = commits_.went_back()) {
    Halt(context, WentBack(commit->earlier, commit->later));
  }
}

// An absent application acts on nothing, so the session ends at once and its lease is revoked. The
// others notice that sooner than they could take over the shards one by one.
void Core::CheckApplication(Context& context) {
  const auto change = application_.TakeChange();
  if (!change) return;
  if (change->to == ApplicationState::kAttached && change->detached_for) {
    work_.ApplicationIsBack(context, *change->detached_for);
  }
  if (change->to != ApplicationState::kAbsent) return;
  // An application in this process has what it loaded, however long it was silent.
  if (options_.external) {
    work_.ForgetApplication();
    session_.SetReady({});  // or the next application's session would begin with the old list
  }
  if (!lifecycle_.running() && !lifecycle_.draining()) return;
  if (session_.member()) {
    context.Say(Notice::Level::kWarning,
                std::string(options_.external ? "no application is attached any more"
                                              : "the application gave no sign of life in time") +
                    ": this node gives up all shards and ends its session");
  }
  EndSession(context);
}

void Core::CheckConfig(Context& context) {
  if (!view_.complete()) return;
  if (const auto& refused = session_.refused()) return Halt(context, *refused);
  // Nothing is written before this: each write of a node that halts would bring the store nearer to
  // the revision that the node knows, until a restarted node could not tell any more.
  const bool creates = !view_.config().present;
  const auto below = commits_.begun_below();
  if (below && creates) return Halt(context, WentBack(commits_.highest(), *below));
  if (const auto wrong = config_.Advance(context)) return Halt(context, *wrong);
  if (below) Halt(context, WentBack(commits_.highest(), *below));
}

void Core::CheckSession(Context& context) {
  if (!session_.LostBy(view_)) return;
  // A halted node begins none, and has said why it halted.
  if (!halted()) {
    context.Say(Notice::Level::kError,
                "session lost: its lease or member key is gone; this node gives up all shards and "
                "begins a new session");
  }
  view_.NoteOutlived({context.self(), session_.id()});
  EndSession(context);
}

void Core::EndSession(Context& context) {
  lifecycle_.SessionLost(!work_.leaderships().held().empty());
  writes_.DropOfSession();
  commits_.ForgetAllBut(writes_);
  config_.Clear();
  session_.Lose(context.now);
  work_.LoseSession(context);
}

// Reopens a watch that stands still below a confirmed revision. A watch that advances is never
// reopened for being late.
void Core::CheckWatch(Context& context) {
  if (const auto warning = watch_.StandsStill(context.now)) {
    context.Say(Notice::Level::kWarning, *warning);
    context.Do(ReopenWatch{});
  } else {
    context.WakeAt(watch_.StandsStillAt());
  }
  if (!view_.complete()) return;
  const Duration every = OwnInterval(options_.self.node,
                                     ComparesWatch(context) ? kAuditEvery : Duration(options_.ttl));
  const TimePoint since = session_.member() ? TimePoint::min() : session_.lost_at();
  if (watch_.AuditDue(context.now, every, since)) context.Do(AuditView{});
  context.WakeAt(watch_.AuditAt(every, since));
}

// A member's confirmations say which revision the store has. A node that has an application and no
// session reads everything instead: only a read shows whether its key is still another session's
// (Session::WaitForKey), and whether a bad config is still there. A node that ends has no need.
bool Core::ComparesWatch(Context& context) {
  if (session_.member() || lifecycle_.closing()) return true;
  if (!application_.absent() || !config_.fits()) return false;
  if (watch_.AskDue(context.now, Duration(options_.ttl) / 3)) {
    context.Do(AskRevision{watch_.reached()});
  }
  context.WakeAt(watch_.AskAt());
  return true;
}

void Core::NoteViewChanges(Context& context) {
  ViewChanges changes = view_.TakeChanges();
  work_.Note(context, changes);
  changed_.Add(std::move(changes));
}

// ---- the end -----------------------------------------------------------------------------------

Error Core::WentBack(Revision earlier, Revision later) const {
  return {ErrorCode::kFailedPrecondition, "etcd went back in time: a commit of ours had revision " +
                                              Number(earlier.value) + ", and etcd has " +
                                              Number(later.value) + options_.went_back_advice};
}

void Core::Halt(Context& context, const Error& why) {
  if (halted()) return;
  context.draining = true;
  lifecycle_.Halt(why, work_.GiveUp(context));
  requests_.DropAll(context);
  context.Do(HaltNode{why});
}

void Core::AdvanceEnd(Context& context) {
  if (lifecycle_.running()) return;
  if (lifecycle_.draining() && session_.member()) {
    if (!lifecycle_.GivesAway(context, work_.leaderships())) return;
    work_.ResignBalancer(context);
  }
  if (!lifecycle_.closing()) Close(context);
  if (!session_.closed()) return;
  const Lifecycle::Closing closing = lifecycle_.Finish();
  requests_.DropAll(context);
  context.Do(
      Finished{closing.in_time && !closing.halted, session_.lease_left() || !view_.complete()});
}

// Ends the session. If resigning was given up, etcd is away: one more try to revoke, then the lease
// is left to expire. But if the drain was only late and etcd answered, all tries are made.
void Core::Close(Context& context) {
  const bool gave_up = !work_.leaderships().held().empty();
  const bool may_act = work_.GiveUp(context);
  const bool leave_lease = lifecycle_.Close() || may_act;
  session_.Close(context.now, leave_lease ? 0 : gave_up ? 1 : kRevokeAttempts);
  session_.Advance(context.now, view_, context.actions, context.wake_at);
}

}  // namespace baton::core
