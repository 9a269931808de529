#include "runtime/engine.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/check.h"
#include "etcd/advice.h"
#include "etcd/server_answers.h"
#include "runtime/node_status.h"

namespace baton::runtime {
namespace {

constexpr std::size_t kRecentShown = 256;
constexpr Duration kStatusAge = std::chrono::milliseconds(50);
constexpr std::chrono::milliseconds kShortestCall{1000};
constexpr std::chrono::milliseconds kLongestCall{5000};

const Error kHalted{ErrorCode::kUnavailable, "the node has halted; ask another one"};
const Error kStopped{ErrorCode::kUnavailable, "the node has stopped; ask another"};

void RunListener(Listener& listener, const core::RunCallback& callback) {
  const ShardId shard = callback.shard;
  switch (callback.kind) {
    case core::CallbackKind::kPrepare: return listener.Prepare(shard);
    case core::CallbackKind::kAcquired: return listener.Acquired(shard, callback.term);
    case core::CallbackKind::kReleasing: return listener.Releasing(shard, callback.term);
    case core::CallbackKind::kLost: return listener.Lost(shard, callback.term, callback.reason);
    case core::CallbackKind::kSuspended: return listener.Suspended(shard, callback.term);
    case core::CallbackKind::kResumed: return listener.Resumed(shard, callback.term);
  }
}

// Runs application code, and catches everything that it throws.
bool Guarded(NodeLog& log, const char* what, ShardId shard, const std::function<void()>& function) {
  std::string thrown;
  try {
    function();
    return true;
  } catch (const std::exception& exception) {
    thrown = exception.what();
  } catch (...) {
    thrown = "something that is not a std::exception";
  }
  log.Error("a listener callback threw",
            {{"callback", what}, {"shard", shard.value}, {"what", thrown}});
  return false;
}

}  // namespace

Engine::Engine(core::CoreOptions options, etcd::Keyspace keyspace, std::string group,
               EngineParts parts)
    : parts_(std::move(parts)),
      group_(std::move(group)),
      core_(std::move(options)),
      writes_(parts_.transport, keyspace, parts_.clock) {
  etcd::WatchCursorHandler handler;
  handler.snapshot = [this](Snapshot snapshot, std::uint64_t cluster) {
    if (!std::exchange(asked_version_, true)) WarnOfOldEtcd();
    cluster_ = cluster;
    Step(core::SnapshotRead{std::move(snapshot), cluster});
  };
  handler.changes = [this](Changes changes, std::uint64_t) {
    Step(core::ChangesSeen{std::move(changes)});
  };
  handler.heard = [this](Revision revision, std::uint64_t) { Step(core::WatchProven{revision}); };
  handler.trouble = [this](const std::string& detail) {
    if (std::exchange(last_trouble_, detail) != detail) parts_.log.Warn("watch: " + detail);
  };
  etcd::CursorExecutor on_loop;
  on_loop.post = [&executor = parts_.executor](std::function<void()> f) {
    executor.Post(std::move(f));
  };
  on_loop.schedule = [&executor = parts_.executor](Duration delay, std::function<void()> f) {
    executor.Schedule(delay, std::move(f));
  };
  etcd::WatchCursorOptions cursor_options;
  cursor_options.jitter = [random = core_.options().random](Duration delay) {
    const auto range = static_cast<std::uint64_t>(std::max<Duration::rep>(1, delay.count() / 4));
    return delay + Duration(static_cast<Duration::rep>(random() % range));
  };
  cursor_ =
      std::make_unique<etcd::WatchCursor>(parts_.transport, std::move(keyspace), std::move(on_loop),
                                          cursor_options, std::move(handler));
}

void Engine::WarnOfOldEtcd() {
  parts_.transport.MaintenanceStatus(
      kLongestCall, [&log = parts_.log](const etcd::Reply<etcdserverpb::StatusResponse>& reply) {
        if (!reply.status.ok() || !etcd::HasKnownFaults(reply.response.version())) return;
        log.Warn(
            std::string(
                "this etcd version has known faults: it renews leases that are gone (Baton works "
                "around it), watches can fall silent (noticed within 10 minutes), and it does not "
                "check permissions in nested transactions; upgrade to ") +
                etcd::kAdvisedVersions,
            {{"version", reply.response.version()}});
      });
}

void Engine::Start() {
  if (parts_.application != nullptr) {
    BATON_CHECK(core_.options().external && core_.options().has_listener);
    parts_.application->Begin([weak = weak_from_this()](core::ApplicationState state) {
      const auto self = weak.lock();
      if (self == nullptr) return;
      self->PostWeak([state](Engine& engine) {
        engine.Step(core::ApplicationChanged{state});
        engine.parts_.application->OnChanged(state);
      });
    });
  }
  cursor_->Start();
  heartbeat_at_ = parts_.clock.Now() + kHeartbeatEvery;
  Step(core::Tick{});
}

// The only lines of a quiet node's log. It needs no timer, because renewals cause enough steps.
void Engine::Heartbeat() {
  const TimePoint now = parts_.clock.Now();
  if (now < heartbeat_at_) return;
  heartbeat_at_ = now + kHeartbeatEvery;
  std::uint64_t transitions = 0;
  for (const auto& [reason, count] : transitions_) transitions += count;
  parts_.log.Info("heartbeat", {{"group", group_},
                                {"node", core_.options().self.node},
                                {"session", ToString(SessionPhaseOf(core_, now))},
                                {"led", core_.leaderships().held().size()},
                                {"leaderless", core_.view().vacancies()},
                                {"nodes", core_.view().LiveMembers()},
                                {"transitions_counted", transitions},
                                {"renewals_confirmed", core_.session().counters().confirmed},
                                {"revision", core_.view().revision().value}});
}

void Engine::Close() {
  closed_ = true;
  cursor_.reset();
  keepalive_.reset();
  if (routes_ != nullptr) routes_->Close(kStopped);
  if (parts_.history != nullptr) parts_.history->Close();
  for (const auto& [id, handler] : std::exchange(transfers_, {})) handler(kStopped);
  for (const auto& [id, handler] : std::exchange(policies_, {})) handler(kStopped);
}

// Posts a function to the loop. It runs only if this engine still exists and is open by then.
template <typename Function>
void Engine::PostWeak(Function function) {
  parts_.executor.Post([weak = weak_from_this(), function = std::move(function)]() mutable {
    const auto engine = weak.lock();
    if (engine != nullptr && !engine->closed_) function(*engine);
  });
}

void Engine::Step(const core::Event& event) {
  if (closed_) return;
  core::Output output = core_.Step(parts_.clock.Now(), event);
  // Transfers are encoded first: from SetLeadership on, the shards that they give away have no
  // leader.
  std::vector<std::shared_ptr<etcd::PreparedWrite>> transfers;
  for (const core::Action& action : output.actions) {
    const auto* submit = std::get_if<core::SubmitWrite>(&action);
    if (submit == nullptr || !std::holds_alternative<TransferBatch>(*submit->write)) continue;
    transfers.push_back(writes_.Prepare(*submit->write, submit->earlier));
  }
  auto next = transfers.begin();
  const auto carry = [&](const auto& action) {
    if constexpr (std::is_same_v<std::decay_t<decltype(action)>, core::SubmitWrite>) {
      const bool encoded = std::holds_alternative<TransferBatch>(*action.write);
      Send(action.operation,
           encoded ? std::move(*next++) : writes_.Prepare(*action.write, action.earlier));
    } else {
      Do(action);
    }
  };
  for (const core::Action& action : output.actions) std::visit(carry, action);
  WakeBy(output.wake_at);
  AfterStep();
}

// An earlier need schedules another timer. The later timer still fires, and causes a needless tick.
void Engine::WakeBy(TimePoint at) {
  if (at >= wake_at_) return;
  wake_at_ = at;
  const Duration delay = std::max<Duration>(Duration{0}, at - parts_.clock.Now());
  parts_.executor.Schedule(delay, [weak = weak_from_this(), at] {
    const auto engine = weak.lock();
    if (engine == nullptr || engine->closed_) return;
    if (engine->wake_at_ == at) engine->wake_at_ = TimePoint::max();
    engine->Step(core::Tick{});
  });
}

void Engine::AddObserver(std::shared_ptr<Observer> observer) {
  if (core_.halted()) observer->OnHalted(*core_.halted());
  observers_.push_back(std::move(observer));
}

void Engine::AddRouteObserver(std::shared_ptr<RouteObserver> observer) {
  if (routes_ == nullptr) {
    const core::CoreOptions& options = core_.options();
    RouteSource source{
        .executor = parts_.executor,
        .clock = parts_.clock,
        .view = core_.view(),
        .shard = [this](ShardId shard) { return ShardOf(core_, shard, parts_.clock.Now()); },
        .proven_at = [this] { return ViewProvenAt(); },
        .stale_after = [this]() -> Duration {
          const auto granted = core_.session().ttl();
          return granted.count() > 0 ? Duration(granted) : Duration(core_.options().ttl);
        }};
    routes_ = std::make_shared<RouteFeed>(std::move(source),
                                          RouteGroup{.group = group_,
                                                     .server = options.self.node,
                                                     .shards = options.shards,
                                                     .hash = options.hash,
                                                     .incarnation = StoreIncarnation()});
    routes_live_ = core_.session().live(parts_.clock.Now());
    if (core_.halted()) routes_->Close(kHalted);
  }
  routes_->Add(std::move(observer));
}

std::uint64_t Engine::StoreIncarnation() const {
  const ConfigFact& config = core_.view().config();
  return StoreIncarnationOf(cluster_, config.present ? config.revision : Revision{});
}

// Routes show the view; for this node's own shards they also show whether it may act.
void Engine::FollowRoutes() {
  routes_->SetStoreIncarnation(StoreIncarnation());
  routes_->Note(core_.changed());
  const bool live = core_.session().live(parts_.clock.Now());
  if (std::exchange(routes_live_, live) != live) {
    for (const auto& [shard, held] : core_.leaderships().held()) routes_->Note(shard);
  }
  routes_->NoteProof();
}

bool Engine::ready() const {
  const TimePoint now = parts_.clock.Now();
  return !core_.halted() && core_.view().complete() && core_.session().live(now);
}

// A watch that has reached a commit's revision has delivered everything up to the time when that
// commit was sent. The watch's own progress is no proof: its member may be cut off.
void Engine::CheckProof() {
  if (!proof_ || core_.watch_proven() < proof_->revision) return;
  view_proven_at_ = proof_->asked;
  proof_.reset();
}

void Engine::AfterStep() {
  CheckProof();
  const auto confirmed = core_.session().counters().confirmed;
  if (confirmed != confirmed_seen_ && parts_.record != nullptr) {
    const auto written = parts_.record->RecordHighest(core_.highest_committed());
    if (!written.ok() && std::exchange(last_trouble_, written.error().message) != last_trouble_) {
      parts_.log.Warn(written.error().message);
    }
  }
  confirmed_seen_ = confirmed;
  const bool now_ready = ready();
  if (now_ready != was_ready_ && ready_changed_) ready_changed_(now_ready);
  was_ready_ = now_ready;
  if (routes_ != nullptr) FollowRoutes();
  Heartbeat();
}

// Long enough for a slow commit, and short enough to notice a failure within a lease.
std::chrono::milliseconds Engine::CallDeadline() const {
  return std::clamp(core_.session().ttl() / 2, kShortestCall, kLongestCall);
}

// ---- etcd --------------------------------------------------------------------------------------

void Engine::Do(const core::GrantLease& action) {
  etcdserverpb::LeaseGrantRequest request;
  request.set_id(action.lease.value);
  request.set_ttl(action.ttl.count());
  parts_.transport.LeaseGrant(
      request, CallDeadline(),
      [self = shared_from_this(), action](etcd::Reply<etcdserverpb::LeaseGrantResponse> reply) {
        const etcd::Grant grant = etcd::GrantOf(reply, action.ttl);
        const core::LeaseGranted event{action.operation, grant.outcome, grant.ttl, grant.detail};
        self->PostWeak([event](Engine& engine) {
          if (event.outcome != Outcome::kDone &&
              std::exchange(engine.last_trouble_, event.detail) != event.detail) {
            engine.parts_.log.Warn("etcd granted no lease: " + event.detail);
          }
          engine.Step(event);
        });
      });
}

void Engine::Do(const core::RevokeLease& action) {
  etcdserverpb::LeaseRevokeRequest request;
  request.set_id(action.lease.value);
  parts_.transport.LeaseRevoke(
      request, CallDeadline(),
      [self = shared_from_this(), action](etcd::Reply<etcdserverpb::LeaseRevokeResponse> reply) {
        const core::LeaseRevoked event{action.operation, reply.status.outcome};
        self->PostWeak([event](Engine& engine) { engine.Step(event); });
      });
}

void Engine::Do(const core::RecordSession& action) {
  if (parts_.record == nullptr) return;
  const auto written = parts_.record->RecordSession(action.session);
  if (!written.ok()) parts_.log.Warn(written.error().message);
}

void Engine::OpenKeepAlive(SessionId lease, const std::string& avoid) {
  keepalive_.reset();
  keepalive_lease_ = lease;
  const std::uint64_t stream = ++keepalive_stream_;
  etcd::KeepAliveHandler handler;
  handler.answered = [weak = weak_from_this(),
                      stream](etcdserverpb::LeaseKeepAliveResponse response) {
    const auto self = weak.lock();
    if (self == nullptr) return;
    self->PostWeak([stream, response](Engine& engine) {
      if (stream != engine.keepalive_stream_) return;
      engine.Step(core::KeepAliveAnswered{engine.keepalive_operation_, etcd::TtlOf(response.ttl()),
                                          response.header().raft_term()});
    });
  };
  handler.ended = [weak = weak_from_this(), stream](const etcd::CallStatus&) {
    const auto self = weak.lock();
    if (self == nullptr) return;
    self->PostWeak([stream](Engine& engine) {
      if (stream != engine.keepalive_stream_) return;
      engine.Step(core::KeepAliveEnded{engine.keepalive_operation_});
    });
  };
  keepalive_ = parts_.transport.OpenKeepAlive(lease.value, avoid, std::move(handler));
}

void Engine::Do(const core::SendKeepAlive& action) {
  const bool another_lease = action.lease != keepalive_lease_;
  if (keepalive_ == nullptr || another_lease || action.fresh_stream) {
    const std::string avoid = keepalive_ != nullptr && !another_lease && action.fresh_stream
                                  ? keepalive_->endpoint()
                                  : "";
    OpenKeepAlive(action.lease, avoid);
  }
  keepalive_operation_ = action.operation;
  keepalive_->Send();
}

void Engine::Do(const core::ConfirmSession& action) {
  writes_.Confirm(
      action.guard, CallDeadline(),
      [self = shared_from_this(), action, asked = parts_.clock.Now()](etcd::ConfirmResult result) {
        core::ConfirmAnswered event{action.operation, result.outcome,   result.passed,
                                    result.revision,  result.raft_term, {}};
        if (result.member) event.read_back.emplace_back(*result.member);
        self->PostWeak([event = std::move(event), asked](Engine& engine) {
          const bool committed = event.outcome == Outcome::kDone;
          if (committed && !engine.proof_) engine.proof_ = Proof{event.revision, asked};
          engine.Step(event);
        });
      });
}

void Engine::Send(core::OperationId operation, std::shared_ptr<etcd::PreparedWrite> write) {
  writes_.Execute(
      std::move(write), CallDeadline(), [self = shared_from_this(), operation](WriteResult result) {
        core::WriteAnswered event{operation, std::move(result)};
        self->PostWeak([event = std::move(event)](Engine& engine) {
          if (event.result.permanent &&
              std::exchange(engine.last_trouble_, event.result.detail) != event.result.detail) {
            engine.parts_.log.Error("etcd permanently refuses a write: " + event.result.detail);
          }
          engine.Step(event);
        });
      });
}

void Engine::Do(const core::ProbeWatch&) { cursor_->RequestProgress(); }
void Engine::Do(const core::ReopenWatch&) { cursor_->Reopen(); }
void Engine::Do(const core::AuditView&) { cursor_->Audit(); }

// ---- the application ---------------------------------------------------------------------------

void Engine::Do(const core::SetLeadership& action) {
  parts_.table.Set(action.shard, action.term, action.activated);
  if (routes_ != nullptr) routes_->Note(action.shard);
  if (parts_.application != nullptr && action.term.value == 0) {
    parts_.application->OnNotLed(action.shard);
  }
}

void Engine::Do(const core::SetDeadline& action) {
  parts_.table.SetDeadline(action.deadline);
  if (parts_.application != nullptr) parts_.application->OnDeadline(action.deadline);
}

void Engine::Do(const core::RunCallback& action) {
  if (parts_.application != nullptr) return HandOver(action);
  parts_.dispatcher.Run(action.shard, [self = shared_from_this(), action] {
    const bool ok = Guarded(self->parts_.log, ToString(action.kind), action.shard,
                            [&] { RunListener(*self->parts_.listener, action); });
    const core::CallbackReturned event{action.operation, action.shard, ok};
    self->PostWeak([event](Engine& engine) { engine.Step(event); });
  });
}

void Engine::HandOver(const core::RunCallback& action) {
  parts_.application->Run(action, [weak = weak_from_this(), operation = action.operation,
                                   shard = action.shard](bool ok) {
    const auto self = weak.lock();
    if (self == nullptr) return;
    const core::CallbackReturned event{operation, shard, ok};
    self->PostWeak([event](Engine& engine) { engine.Step(event); });
  });
}

Revision Engine::RevisionOf(const Transition& transition) const {
  const bool began = !transition.to.empty() && transition.reason != Reason::kResumed;
  return began ? Revision{transition.term.value} : core_.view().revision();
}

void Engine::Do(const core::ReportTransition& action) {
  const Transition& counted = action.transition;
  ++transitions_[counted.reason];
  if (parts_.history != nullptr) {
    GapPhases gap;
    gap.detect_at_most = counted.detect_at_most;
    if (!counted.to.empty()) gap.elect = counted.elect;
    if (!counted.to.empty()) gap.activate = counted.activate;
    parts_.history->Add(counted, RevisionOf(counted), gap);
  }
  for (const auto& observer : observers_) observer->OnTransition(action.transition);
  if (parts_.listener == nullptr) return;
  parts_.dispatcher.Run(action.transition.shard,
                        [&log = parts_.log, listener = parts_.listener, action] {
                          Guarded(log, "transitioned", action.transition.shard,
                                  [&] { listener->Transitioned(action.transition); });
                        });
}

void Engine::Do(const core::SeeTransition& action) {
  if (parts_.history == nullptr) return;
  parts_.history->Add(action.transition, RevisionOf(action.transition), GapSeen(action.transition));
}

void Engine::Do(const core::ReportHandoffPhase& action) {
  for (const auto& observer : observers_) observer->OnHandoffPhase(action.phase, action.took);
}

void Engine::Do(const core::Notice& action) {
  const auto level = action.level == core::Notice::Level::kInfo      ? LogLevel::kInfo
                     : action.level == core::Notice::Level::kWarning ? LogLevel::kWarn
                                                                     : LogLevel::kError;
  parts_.log.Write(level, action.text, {{"group", group_}, {"node", core_.options().self.node}});
}

void Engine::Do(const core::HaltNode& action) {
  parts_.log.Error("halted: " + action.why.message);
  if (halted_) halted_(action.why);
  if (routes_ != nullptr) routes_->Close(kHalted);
  for (const auto& observer : observers_) observer->OnHalted(action.why);
  if (parts_.listener == nullptr) return;
  parts_.dispatcher.Run(ShardId{0},
                        [&log = parts_.log, listener = parts_.listener, why = action.why] {
                          Guarded(log, "halted", ShardId{0}, [&] { listener->Halted(why); });
                        });
}

void Engine::Do(const core::Finished& action) {
  keepalive_.reset();
  status_.reset();  // a caller that waited for the end sees the status after it
  if (finished_) finished_(action);
}

// ---- operators ---------------------------------------------------------------------------------

void Engine::Ask(TransferRequest request, std::function<void(Result<MoveFact>)> handler) {
  if (closed_) return handler(kStopped);
  const core::RequestId id = next_request_++;
  transfers_[id] = std::move(handler);
  Step(core::TransferAsked{id, request.shard, request.to, request.if_term, request.dry_run,
                           request.actor});
}

void Engine::Ask(PolicyRequest request, std::function<void(baton::Status)> handler) {
  if (closed_) return handler(kStopped);
  using Verb = PolicyRequest::Verb;
  const bool present = request.verb == Verb::kDrain || request.verb == Verb::kPause ||
                       request.verb == Verb::kRebalance;
  std::string name = "rebalance";
  if (request.verb == Verb::kDrain || request.verb == Verb::kUndrain)
    name = "drain/" + request.node;
  if (request.verb == Verb::kPause || request.verb == Verb::kResume) name = "pause";
  if (request.dry_run) {
    const bool unknown =
        request.verb == Verb::kDrain && core_.view().member(request.node) == nullptr;
    return handler(unknown ? baton::Status(Error{ErrorCode::kNotFound,
                                                 "no node '" + request.node + "' in this group"})
                           : Ok());
  }
  const core::RequestId id = next_request_++;
  policies_[id] = std::move(handler);
  Step(core::PolicyAsked{id, name, present, request.actor});
}

void Engine::Do(const core::AnswerTransfer& action) {
  const auto found = transfers_.extract(action.request);
  if (!found.empty()) found.mapped()(action.result);
}

void Engine::Do(const core::AnswerPolicy& action) {
  const auto found = policies_.extract(action.request);
  if (!found.empty()) found.mapped()(action.result);
}

std::shared_ptr<const NodeStatus> Engine::StatusNow() {
  status_.reset();
  return Status();
}

std::shared_ptr<const NodeStatus> Engine::Status() {
  const TimePoint now = parts_.clock.Now();
  if (status_ != nullptr && now - status_at_ < kStatusAge) return status_;
  auto status = std::make_shared<NodeStatus>(StatusOf(core_, now));
  status->group = group_;
  if (parts_.history != nullptr) status->recent = parts_.history->Recent(kRecentShown);
  status->counters.transitions = transitions_;
  status->counters.log_records_dropped = parts_.log.Dropped();
  if (cursor_ != nullptr) {
    status->counters.watch_resyncs = cursor_->counts().resyncs;
    status->counters.watch_stale_events = cursor_->counts().repeated_revisions;
  }
  status->view_age = core_.view().complete() ? now - ViewProvenAt() : Duration{0};
  status_ = status;
  status_at_ = now;
  return status_;
}

}  // namespace baton::runtime
