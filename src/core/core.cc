#include "core/core.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/may_claim.h"
#include "core/replica_choice.h"

namespace baton::core {
namespace {

constexpr int kRevokeAttempts = 3;  // then the lease is left to expire
// then etcd must be away, and the lease expires
constexpr Duration kResignBound = std::chrono::seconds(5);

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
      news_(options_.shards) {
  if (options_.external) application_.state = ApplicationState::kAbsent;
  BATON_CHECK(options_.shards > 0);
  BATON_CHECK(options_.random != nullptr);
  BATON_CHECK(!options_.self.node.empty());
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
                  .draining = !std::holds_alternative<Running>(lifecycle_),
                  .ended = halted().has_value() || finished(),
                  .application = application_.state};
  std::visit([&](const auto& happened) { Record(context, happened); }, event);
  Advance(context);
  commits_.NoteSent(output.actions);
  return output;
}

std::optional<Error> Core::halted() const {
  if (const auto* halting = std::get_if<Halting>(&lifecycle_)) return halting->why;
  if (const auto* closing = std::get_if<Closing>(&lifecycle_)) return closing->halted;
  if (const auto* stopped = std::get_if<Stopped>(&lifecycle_)) return stopped->halted;
  return std::nullopt;
}

bool Core::draining() const {
  return !std::holds_alternative<Running>(lifecycle_) &&
         !std::holds_alternative<Halting>(lifecycle_);
}

// ---- record ------------------------------------------------------------------------------------

void Core::Record(Context& context, const SnapshotRead& event) {
  config_.NoteCluster(event.cluster_id);
  const bool below = event.snapshot.revision < commits_.highest();
  if (below && !view_.complete()) begun_below_ = event.snapshot.revision;
  view_.Merge(event.snapshot, context.now);
  watch_.Reach(event.snapshot.revision, context.now);
  watch_.NoteRead(context.now);
  if (const auto& older = view_.went_back()) {
    Halt(context, {ErrorCode::kFailedPrecondition,
                   "etcd went back in time: a key had revision " + Number(older->known.value) +
                       ", and a later read found it at revision " + Number(older->found.value) +
                       "; a backup was restored with its revision raised while this node ran: stop "
                       "all nodes of the group, then start them again"});
  }
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
  NoteCommit(context, event.revision, event.operation);
  if (watch_.Require(event.revision, context.now)) context.Do(ProbeWatch{watch_.required()});
}

void Core::Record(Context& context, const WriteAnswered& event) {
  view_.Merge(event.result.read_back, context.now);
  // Session and leaderships follow the read-back first: what the answer means for a shard depends
  // on what is known now.
  const bool of_session = session_.On(event, context.now);
  CheckSession(context);
  if (event.result.outcome != Outcome::kUnknown) {
    NoteCommit(context, event.result.revision, event.operation);
  }
  if (of_session || halted()) return;
  const std::optional<PendingWrites::Settled> settled = writes_.Settle(event, context.now);
  if (!settled) return;
  NoteViewChanges(context);
  TellOwner(context, event.operation, *settled, event.result);
}

void Core::TellOwner(Context& context, OperationId operation, const PendingWrites::Settled& settled,
                     const WriteResult& result) {
  switch (settled.owner) {
    case WriteOwner::kConfig: return config_.On(context.now);
    case WriteOwner::kRequests: return requests_.On(operation, settled, result);
    case WriteOwner::kLeaderships:
      leaderships_.On(context, operation, *settled.write, result);
      // an abandon may have dropped a transfer
      if (std::holds_alternative<AbandonBatch>(*settled.write)) commits_.ForgetAllBut(writes_);
      return;
    case WriteOwner::kOtherTries:
      return leaderships_.OnOtherTries(context, operation, result.outcome);
    case WriteOwner::kIncomingMoves:
      return incoming_moves_.On(context, operation, *settled.write, result.outcome);
    case WriteOwner::kSuccession: return succession_.On(context, operation, *settled.write, result);
    case WriteOwner::kBalancer: return balancer_.On(context, operation, result.outcome);
    case WriteOwner::kRipeMarks: return ripe_marks_.On(context.now);
  }
}

// If a commit has a lower revision than an earlier commit that was known when this one was sent,
// the store went back in time: a backup was restored under the same addresses.
void Core::NoteCommit(Context& context, Revision revision, OperationId operation) {
  const std::optional<Revision> earlier = commits_.NoteCommitted(operation, revision);
  if (earlier) Halt(context, WentBack(*earlier, revision));
}

Error Core::WentBack(Revision earlier, Revision later) const {
  return {ErrorCode::kFailedPrecondition, "etcd went back in time: a commit of ours had revision " +
                                              Number(earlier.value) + ", and etcd has " +
                                              Number(later.value) + options_.went_back_advice};
}

void Core::Record(Context& context, const CallbackReturned& event) {
  if (!leaderships_.On(context, event)) incoming_moves_.On(event, options_.self.node);
}

void Core::Record(Context&, const TransferRequested& event) { requests_.On(event); }
void Core::Record(Context&, const PolicyRequested& event) { requests_.On(event); }
void Core::Record(Context&, const RetryRequested& event) { requests_.On(event); }
void Core::Record(Context&, const GroupChangeRequested& event) { requests_.On(event); }
void Core::Record(Context&, const ReleaseRequested& event) { requests_.On(event); }
void Core::Record(Context&, const NodeChangeRequested& event) { requests_.On(event); }

// An absent application acts on nothing, so the session ends at once and its lease is revoked. The
// others notice that sooner than they could take over the shards one by one.
void Core::Record(Context& context, const ApplicationChanged& event) {
  if (event.state == application_.state) return;
  const bool back = application_.state == ApplicationState::kDetached;
  if (application_.state == ApplicationState::kAbsent) application_.there_since = context.now;
  context.application = application_.state = event.state;
  if (event.state == ApplicationState::kDetached) application_.detached_at = context.now;
  if (event.state == ApplicationState::kAttached && back) {
    leaderships_.PushBounds(context, context.now - application_.detached_at);
    incoming_moves_.PushBounds(context.now - application_.detached_at);
  }
  // An application in this process has what it loaded, however long it was silent.
  if (event.state == ApplicationState::kAbsent && options_.external) {
    standby_duties_.Forget();
    session_.SetReady({});  // or the next application's session would begin with the old list
    leaderships_.ForgetApplication();
  }
  const bool leaving =
      !std::holds_alternative<Running>(lifecycle_) && !std::holds_alternative<Draining>(lifecycle_);
  if (event.state != ApplicationState::kAbsent || leaving) return;
  if (session_.member()) {
    context.Say(Notice::Level::kWarning,
                std::string(options_.external ? "no application is attached any more"
                                              : "the application gave no sign of life in time") +
                    ": this node gives up all shards and ends its session");
  }
  EndSession(context);
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
  for (const StandbyReadySaid& word : event.words) standby_duties_.On(word);
}

void Core::Record(Context& context, const DrainRequested&) {
  if (std::holds_alternative<Running>(lifecycle_)) {
    lifecycle_.emplace<Draining>().deadline = context.now + options_.drain_timeout;
  }
  context.draining = true;
  session_.SetState(MemberState::kDraining);
}

void Core::Record(Context& context, const StopRequested&) {
  if (std::holds_alternative<Running>(lifecycle_)) lifecycle_ = Draining{};
  if (auto* draining = std::get_if<Draining>(&lifecycle_)) {
    draining->deadline = context.now;
    draining->resigned_all_at = context.now - kResignBound;
  }
  context.draining = true;
}

void Core::Record(Context&, const Tick&) {}

// ---- advance -----------------------------------------------------------------------------------

void Core::Advance(Context& context) {
  // First, because the node may end below: it drops only requests whose writes are pending. And
  // even if the node has finished, because each request is answered.
  requests_.Advance(context, leaderships_);
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
  if (opens || session_.member() || std::holds_alternative<Closing>(lifecycle_)) {
    session_.Advance(context.now, view_, context.actions, context.wake_at);
  }
  if (halted()) return AdvanceEnd(context);  // takes nothing new, and writes nothing more
  deadline_.Advance(context, leaderships_);
  NoteViewChanges(context);
  standby_duties_.Advance(context, leaderships_);
  incoming_moves_.Advance(context, standby_duties_, leaderships_.failed().Room(context));
  leaderships_.Advance(context);
  if (auto ready = standby_duties_.TakeReady(context)) session_.SetReady(*std::move(ready));
  session_.SetFailing(leaderships_.failed().says_failing());
  session_.AdvanceRecord(context.now, view_, context.actions, context.wake_at);
  ripe_marks_.Advance(context);
  succession_.Advance(context, leaderships_);
  balancer_.Advance(context);
  AdvanceEnd(context);
  writes_.Advance(context.now, context.actions, context.wake_at);
}

void Core::NoteViewChanges(Context& context) {
  ViewChanges changes = view_.TakeChanges();
  leaderships_.Reconcile(context, changes);
  news_.Note(context, changes, leaderships_);
  standby_duties_.Note(view_, changes, leaderships_);
  incoming_moves_.Note(changes);
  ripe_marks_.Note(view_, changes);
  succession_.Note(changes);
  balancer_.Note(view_, changes);
  for (const NodeId& node : changes.flapping) {
    const auto delay =
        std::chrono::duration_cast<std::chrono::seconds>(view_.steadiness().DelayOf(node));
    context.Say(Notice::Level::kWarning,
                "node " + node + " comes and goes: when it is back it gets no shards for " +
                    Number(delay.count()) + " s");
  }
  changed_.Add(std::move(changes));
}

void Core::CheckConfig(Context& context) {
  if (!view_.complete()) return;
  if (const auto& refused = session_.refused()) return Halt(context, *refused);
  // Nothing is written before this: each write of a node that halts would bring the store nearer to
  // the revision that the node knows, until a restarted node could not tell any more.
  const bool creates = !view_.config().present;
  if (begun_below_ && creates) return Halt(context, WentBack(commits_.highest(), *begun_below_));
  if (const auto wrong = config_.Advance(context)) return Halt(context, *wrong);
  if (begun_below_) Halt(context, WentBack(commits_.highest(), *begun_below_));
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
  // What is still held may have been given away by a write whose answer is missing. To call such a
  // drain late is the safe direction.
  auto* draining = std::get_if<Draining>(&lifecycle_);
  if (draining != nullptr && !leaderships_.held().empty()) draining->in_time = false;
  deadline_.Withdraw(context);
  writes_.DropOfSession();
  commits_.ForgetAllBut(writes_);
  config_.Clear();
  session_.Lose(context.now);
  session_ended_at_ = context.now;
  leaderships_.LoseAll(context, Reason::kLeaseExpired);
  incoming_moves_.Clear();
  ripe_marks_.Clear();
  succession_.Clear();
  balancer_.Clear();
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
  const TimePoint since = session_.member() ? TimePoint::min() : session_ended_at_;
  if (watch_.AuditDue(context.now, every, since)) context.Do(AuditView{});
  context.WakeAt(watch_.AuditAt(every, since));
}

// A member's confirmations say which revision the store has. A node that has an application and no
// session reads everything instead: only a read shows whether its key is still another session's
// (Session::WaitForKey), and whether a bad config is still there. A node that ends has no need.
bool Core::ComparesWatch(Context& context) {
  if (session_.member() || std::holds_alternative<Closing>(lifecycle_)) return true;
  if (application_.state != ApplicationState::kAbsent || !config_.fits()) return false;
  if (context.now >= ask_at_) {
    ask_at_ = context.now + Duration(options_.ttl) / 3;
    context.Do(AskRevision{watch_.reached()});
  }
  context.WakeAt(ask_at_);
  return true;
}

// ---- the end -----------------------------------------------------------------------------------

void Core::Halt(Context& context, const Error& why) {
  if (halted()) return;
  context.draining = true;
  deadline_.Withdraw(context);
  const bool leave_lease = GiveUpAll(context);
  if (auto* closing = std::get_if<Closing>(&lifecycle_)) {
    closing->halted = why;
  } else if (auto* stopped = std::get_if<Stopped>(&lifecycle_)) {
    stopped->halted = why;
  } else {
    lifecycle_ = Halting{.why = why, .leave_lease = leave_lease};
  }
  requests_.DropAll(context);
  context.Do(HaltNode{why});
}

// A process that can't be asked whether it stopped may act on its shards until the last deadline it
// was sent. Then only the lease's expiry may give the shards to others.
bool Core::GiveUpAll(Context& context) {
  const bool may_act = options_.external && application_.state != ApplicationState::kAbsent;
  const bool leave_lease = may_act && !leaderships_.held().empty();
  leaderships_.LoseAll(context, Reason::kShutdown);
  standby_duties_.EndAll(context);
  return leave_lease;
}

void Core::AdvanceEnd(Context& context) {
  if (std::holds_alternative<Running>(lifecycle_)) return;
  if (auto* draining = std::get_if<Draining>(&lifecycle_);
      draining != nullptr && session_.member() && !GivenAway(context, *draining)) {
    return;
  }
  if (!std::holds_alternative<Closing>(lifecycle_)) Close(context);
  if (!session_.closed()) return;
  const Closing closing = std::get<Closing>(lifecycle_);
  lifecycle_ = Stopped{closing.halted};
  requests_.DropAll(context);
  context.Do(
      Finished{closing.in_time && !closing.halted, session_.lease_left() || !view_.complete()});
}

// Whether no other node may lead any of what is left here.
bool Core::NobodyTakesOver() const {
  if (!AnotherMayLead(view_, options_.self.node)) return true;
  const auto& held = leaderships_.held();
  return !view_.rules().empty() && std::none_of(held.begin(), held.end(), [&](const auto& entry) {
    return AnotherMayLead(view_, options_.self.node, entry.first);
  });
}

// Hands over the shards that have a target, and resigns the rest. Returns true once nothing is
// left, or etcd must be away.
bool Core::GivenAway(Context& context, Draining& draining) {
  const bool late = context.now >= draining.deadline;
  const FailoverSettings& failover = view_.failover();
  const bool immediate = failover.policy == FailoverPolicy::kImmediate;
  const bool keeps = KeepsShardsFor(view_, context.self());
  // If the application was asked to release shards, that goes on even if another node appears.
  const bool resigns = late || keeps || NobodyTakesOver() || leaderships_.AskedToResign();
  const bool ask = !late && (keeps || failover.lock_delay.count() > 0);
  if (!leaderships_.held().empty() && resigns) {
    if (late) draining.in_time = false;
    // The time limit starts again with every progress: many shards take many batches.
    const std::size_t left = leaderships_.held().size();
    if (keeps && !draining.resigned_all_at) {
      context.Say(Notice::Level::kInfo, "this node's shards (" + std::to_string(left) +
                                            ") will wait for it, as failover is '" +
                                            ToString(failover.policy) + "'");
    }
    const bool asking = (ask || options_.external) && leaderships_.Asking();
    const bool progress = left < draining.left_to_resign || asking;
    if (!draining.resigned_all_at || progress) draining.resigned_all_at = context.now;
    draining.left_to_resign = left;
    // also shards gained since the last step
    leaderships_.ResignAll(context, immediate || keeps ? Reason::kShutdown : Reason::kDrain, ask);
  }
  const auto since = draining.resigned_all_at;
  const bool gave_up = since && context.now >= *since + kResignBound;
  if (!leaderships_.held().empty() && !gave_up) {
    context.WakeAt(since ? *since + kResignBound : draining.deadline);
    return false;
  }
  // A node that leads nothing would be gone before others know that it leaves, and the brake would
  // count it. While no renewal is confirmed, nothing can be written.
  if (!late && context.live() && !session_.SaysThatItLeaves(view_)) {
    context.WakeAt(draining.deadline);
    return false;
  }
  if (!leaderships_.held().empty()) draining.in_time = false;
  balancer_.Resign(context);
  return true;
}

// Ends the session. If resigning was given up, etcd is away: one more try to revoke, then the lease
// is left to expire. But if the drain was only late and etcd answered, all tries are made.
void Core::Close(Context& context) {
  deadline_.Withdraw(context);
  const bool gave_up = !leaderships_.held().empty();
  bool leave_lease = GiveUpAll(context);
  Closing closing;
  if (const auto* draining = std::get_if<Draining>(&lifecycle_)) {
    closing.in_time = draining->in_time;
  } else if (const auto* halting = std::get_if<Halting>(&lifecycle_)) {
    closing.halted = halting->why;
    leave_lease = leave_lease || halting->leave_lease;
  }
  lifecycle_ = std::move(closing);
  session_.Close(context.now, leave_lease ? 0 : gave_up ? 1 : kRevokeAttempts);
  session_.Advance(context.now, view_, context.actions, context.wake_at);
}

}  // namespace baton::core
