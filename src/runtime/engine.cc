#include "runtime/engine.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "etcd/advice.h"
#include "etcd/server_answers.h"
#include "runtime/node_status.h"

namespace baton::runtime {
namespace {

constexpr std::chrono::milliseconds kShortestCall{1000};
constexpr std::chrono::milliseconds kLongestCall{5000};

// A step that begins or ends the leadership of all shards brings tens of thousands.
constexpr std::size_t kCallbacksPerTurn = 1000;
constexpr std::size_t kStandbyWordsPerTurn = 1000;

const Error kHalted{ErrorCode::kUnavailable, "the node has halted; ask another one"};

core::CoreOptions WithWallClock(core::CoreOptions options, const Clock& clock) {
  options.wall_clock = [&clock] { return clock.WallNow(); };
  return options;
}

}  // namespace

Engine::Engine(core::CoreOptions options, etcd::Keyspace keyspace, std::string group,
               EngineParts parts)
    : parts_(std::move(parts)),
      group_(std::move(group)),
      core_(WithWallClock(std::move(options), parts_.clock)),
      writes_(parts_.transport, keyspace, parts_.clock),
      follower_({.group = group_,
                 .name = core_.options().self.node,
                 .keyspace = std::move(keyspace),
                 .transport = parts_.transport,
                 .clock = parts_.clock,
                 .executor = parts_.executor,
                 .random = core_.options().random,
                 .history = parts_.history,
                 .log = parts_.log},
                *this),
      listener_calls_(parts_.dispatcher, parts_.listener, standby_words_, parts_.log) {}

void Engine::WarnOfOldEtcd() {
  parts_.transport.MaintenanceStatus(
      kLongestCall, [&log = parts_.log](const etcd::Reply<etcdserverpb::StatusResponse>& reply) {
        const std::string& version = reply.response.version();
        const std::vector<std::string> faults = etcd::FaultsOf(version);
        if (!reply.status.ok() || faults.empty()) return;
        std::string words;
        for (const std::string& fault : faults) words += (words.empty() ? "" : "; ") + fault;
        log.Warn(
            std::string("this etcd version has known faults; upgrade to ") + etcd::kAdvisedVersions,
            {{"version", version}, {"faults", words}});
      });
}

void Engine::Start() {
  if (parts_.application != nullptr) {
    BATON_CHECK(core_.options().external && core_.options().has_listener);
    const auto changed = [weak = weak_from_this()](core::ApplicationState state) {
      PostWeak(weak, [state](Engine& engine) {
        engine.Step(core::ApplicationChanged{state});
        engine.parts_.application->OnChanged(state);
      });
    };
    const auto said = [weak = weak_from_this()](const core::StandbyReadySaid& word) {
      const auto self = weak.lock();
      if (self != nullptr && self->standby_words_->Say(word)) self->TakeStandbyWordsSoon();
    };
    parts_.application->Begin(changed, said);
  }
  follower_.Start();
  Step(core::Tick{});
}

// The only lines of a quiet node's log. It needs no timer, because renewals cause enough steps.
void Engine::Heartbeat() {
  if (!follower_.HeartbeatDue()) return;
  std::uint64_t transitions = 0;
  for (const auto& [reason, count] : transitions_) transitions += count;
  parts_.log.Info("heartbeat", {{"group", group_},
                                {"node", core_.options().self.node},
                                {"session", ToString(SessionPhaseOf(core_, parts_.clock.Now()))},
                                {"led", core_.leaderships().held().size()},
                                {"leaderless", core_.view().vacancies()},
                                {"nodes", core_.view().LiveMembers()},
                                {"transitions_counted", transitions},
                                {"renewals_confirmed", core_.session().counters().confirmed},
                                {"revision", core_.view().revision().value}});
}

void Engine::Close() {
  closed_ = true;
  StartCallbacks(callbacks_.size());
  follower_.Close(kNodeStopped);
  keepalive_.reset();
  requests_.Close();
}

// For callers that don't keep the engine alive.
template <typename Function>
void Engine::PostWeak(const std::weak_ptr<Engine>& weak, Function function) {
  if (const auto self = weak.lock()) self->PostWeak(std::move(function));
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
  const TimePoint now = parts_.clock.Now();
  // Since the last step somebody may have been shown that this node has stopped.
  lapsed_ = was_live_ && !core_.session().live(now);
  core::Output output = core_.Step(now, event);
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
      Submit(action.operation,
             encoded ? std::move(*next++) : writes_.Prepare(*action.write, action.earlier));
    } else {
      Do(action);
    }
  };
  for (const core::Action& action : output.actions) std::visit(carry, action);
  StartCallbacks(kCallbacksPerTurn);
  WakeBy(output.wake_at);
  AfterStep();
}

// ---- the group ---------------------------------------------------------------------------------

void Engine::OnSnapshot(Snapshot snapshot, std::uint64_t cluster) {
  if (!std::exchange(asked_version_, true)) WarnOfOldEtcd();
  // That of a large group has hundreds of thousands of texts, which a turn of its own frees.
  auto event = std::make_shared<core::Event>(core::SnapshotRead{std::move(snapshot), cluster});
  Step(*event);
  parts_.executor.Post([event = std::move(event)] {});
}

void Engine::OnChanges(Changes changes, std::uint64_t) {
  Step(core::ChangesSeen{std::move(changes)});
}

void Engine::OnReached(Revision revision) { Step(core::WatchProven{revision}); }

ShardStatus Engine::ShardNow(ShardId shard) const {
  return ShardOf(core_, shard, parts_.clock.Now());
}

Duration Engine::StaleAfter() const {
  const auto granted = core_.session().ttl();
  return granted.count() > 0 ? Duration(granted) : Duration(core_.options().ttl);
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

bool Engine::ready() const {
  const TimePoint now = parts_.clock.Now();
  return !core_.halted() && core_.view().complete() && core_.session().live(now);
}

// Also at each confirmation, which may be the time for what could not be written earlier.
void Engine::RecordHighest() {
  const auto confirmed = core_.session().counters().confirmed;
  const Revision highest = core_.highest_committed();
  const bool news = std::exchange(confirmed_seen_, confirmed) != confirmed ||
                    std::exchange(highest_seen_, highest) != highest;
  if (!news || parts_.record == nullptr) return;
  const auto written = parts_.record->RecordHighest(highest);
  if (!written.ok() && follower_.IsNewTrouble(written.error().message)) {
    parts_.log.Warn(written.error().message);
  }
}

void Engine::AfterStep() {
  RecordHighest();
  const bool now_ready = ready();
  const bool turned = std::exchange(was_ready_, now_ready) != now_ready;
  if (turned && ready_changed_) ready_changed_(now_ready);
  parts_.table.SetRenewed(core_.session().last_renewed());
  follower_.Followed(core_.changed(), core_.watch_proven());
  // Routes show the view; for this node's own shards they also show whether it may act.
  const bool live = core_.session().live(parts_.clock.Now());
  if (std::exchange(was_live_, live) != live || lapsed_) {
    for (const auto& [shard, held] : core_.leaderships().held()) follower_.NoteShard(shard);
  }
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
          if (event.outcome != Outcome::kDone && engine.follower_.IsNewTrouble(event.detail)) {
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
  const auto written =
      parts_.record->RecordSession({action.session, action.replaces, action.external});
  if (!written.ok()) parts_.log.Warn(written.error().message);
}

void Engine::OpenKeepAlive(SessionId lease, const std::string& avoid) {
  keepalive_.reset();
  keepalive_lease_ = lease;
  const std::uint64_t stream = ++keepalive_stream_;
  etcd::KeepAliveHandler handler;
  handler.answered = [weak = weak_from_this(),
                      stream](etcdserverpb::LeaseKeepAliveResponse response) {
    PostWeak(weak, [stream, response](Engine& engine) {
      if (stream != engine.keepalive_stream_) return;
      engine.Step(core::KeepAliveAnswered{engine.keepalive_operation_, etcd::TtlOf(response.ttl()),
                                          response.header().raft_term()});
    });
  };
  handler.ended = [weak = weak_from_this(), stream](const etcd::CallStatus&) {
    PostWeak(weak, [stream](Engine& engine) {
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
  const auto through =
      action.elsewhere ? etcd::Through::kAnotherEndpoint : etcd::Through::kPresentEndpoint;
  writes_.Confirm(
      action.guard, CallDeadline(),
      [self = shared_from_this(), action, asked = parts_.clock.Now()](etcd::ConfirmResult result) {
        core::ConfirmAnswered event{action.operation, result.outcome,   result.passed,
                                    result.revision,  result.raft_term, {}};
        if (result.member) event.read_back.emplace_back(*result.member);
        self->PostWeak([event = std::move(event), asked](Engine& engine) {
          if (event.outcome == Outcome::kDone) engine.follower_.Prove(event.revision, asked);
          engine.Step(event);
        });
      },
      through);
}

void Engine::Submit(core::OperationId operation, std::shared_ptr<etcd::PreparedWrite> write) {
  writes_.Submit(
      std::move(write), CallDeadline(), [self = shared_from_this(), operation](WriteResult result) {
        core::WriteAnswered event{operation, std::move(result)};
        self->PostWeak([event = std::move(event)](Engine& engine) {
          if (event.result.permanent && engine.follower_.IsNewTrouble(event.result.detail)) {
            engine.parts_.log.Error("etcd permanently refuses a write: " + event.result.detail);
          }
          engine.Step(event);
        });
      });
}

void Engine::Do(const core::ProbeWatch& action) {
  follower_.watch().RequestProgress(action.required);
}
void Engine::Do(const core::AskRevision& action) {
  follower_.AskRevision(CallDeadline(), [self = shared_from_this(), known = action.known,
                                         asked = parts_.clock.Now()](Revision revision, auto) {
    self->PostWeak([known, asked, revision](Engine& engine) {
      if (revision >= known) engine.follower_.Prove(revision, asked);
      engine.Step(core::RevisionAnswered{known, revision});
    });
  });
}
void Engine::Do(const core::ReopenWatch&) { follower_.watch().Reopen(); }
void Engine::Do(const core::AuditView&) { follower_.watch().Audit(); }

// ---- the application ---------------------------------------------------------------------------

void Engine::Do(const core::SetLeadership& action) {
  parts_.table.Set(action.shard, action.term, action.activated);
  follower_.NoteShard(action.shard);
  if (parts_.application != nullptr && action.term.value == 0) {
    parts_.application->OnNotLed(action.shard);
  }
}

void Engine::Do(const core::SetDeadline& action) {
  parts_.table.SetDeadline(action.deadline);
  if (parts_.application != nullptr) parts_.application->OnDeadline(action.deadline);
}

void Engine::Do(const core::RunCallback& action) {
  if (action.kind == core::CallbackKind::kReleasing) follower_.NoteShard(action.shard);
  if (parts_.application != nullptr) return HandOver(action);
  callbacks_.emplace_back(action);
}

void Engine::StartCallbacks(std::size_t most) {
  for (; most > 0 && !callbacks_.empty(); --most) {
    std::visit([this](const auto& action) { Start(action); }, callbacks_.front());
    callbacks_.pop_front();
  }
  if (callbacks_.empty() || std::exchange(will_start_callbacks_, true)) return;
  PostWeak([](Engine& engine) {
    engine.will_start_callbacks_ = false;
    engine.StartCallbacks(kCallbacksPerTurn);
  });
}

void Engine::Start(const core::RunCallback& action) {
  listener_calls_.Start(
      action, [self = shared_from_this(), kind = action.kind](const core::CallbackReturned& event) {
        self->PostWeak([event, kind](Engine& engine) { engine.OnReturned(kind, event); });
      });
}

void Engine::HandOver(const core::RunCallback& action) {
  parts_.application->Run(
      action, [weak = weak_from_this(), kind = action.kind, operation = action.operation,
               shard = action.shard](bool ok, const std::string& error) {
        const bool unsaid = !ok && error.empty();
        const core::CallbackReturned event{
            operation, shard, ok, unsaid ? "the application answered that it failed" : error};
        PostWeak(weak, [event, kind](Engine& engine) { engine.OnReturned(kind, event); });
      });
}

void Engine::OnReturned(core::CallbackKind kind, const core::CallbackReturned& event) {
  if (!core::IsOfStandby(kind)) return Step(event);
  if (!event.ok) ++standby_callbacks_failed_;
}

void Engine::SetStandbyReady(ShardId shard, bool ready) {
  if (standby_words_->Say(shard, ready)) TakeStandbyWordsSoon();
}

void Engine::TakeStandbyWordsSoon() {
  PostWeak([](Engine& engine) {
    core::StandbysReadySaid said{engine.standby_words_->Take(kStandbyWordsPerTurn)};
    if (said.words.empty()) return;
    engine.Step(said);
    engine.TakeStandbyWordsSoon();
  });
}

void Engine::Do(const core::ReportTransition& action) {
  const Transition& counted = action.transition;
  ++transitions_[counted.reason];
  GapPhases gap;
  gap.detect_at_most = counted.detect_at_most;
  gap.detect = counted.detect;
  if (!counted.to.empty()) gap.elect = counted.elect;
  if (!counted.to.empty()) gap.activate = counted.activate;
  follower_.AddToHistory(counted, gap);
  for (const auto& observer : follower_.observers()) observer->OnTransition(counted);
  if (parts_.listener != nullptr) callbacks_.emplace_back(action);
}

void Engine::Do(const core::SeeTransition& action) {
  follower_.AddToHistory(action.transition, GapOf(action.transition));
}

void Engine::Do(const core::ReportHandoffPhase& action) {
  for (const auto& observer : follower_.observers()) {
    observer->OnHandoffPhase(action.phase, action.took);
  }
}

void Engine::Do(const core::Notice& action) {
  const auto level = action.level == core::Notice::Level::kInfo      ? LogLevel::kInfo
                     : action.level == core::Notice::Level::kWarning ? LogLevel::kWarn
                                                                     : LogLevel::kError;
  parts_.log.Write(level, action.text, {{"group", group_}, {"node", core_.options().self.node}});
}

void Engine::Do(const core::HaltNode& action) {
  follower_.Halt(action.why, kHalted);
  if (parts_.listener != nullptr) callbacks_.emplace_back(action);  // after shard 0's Lost
}

void Engine::Do(const core::Finished& action) {
  keepalive_.reset();
  if (!action.lease_left && parts_.record != nullptr) {
    const auto written = parts_.record->RecordSession({});
    if (!written.ok()) parts_.log.Warn(written.error().message);
  }
  follower_.ForgetStatus();  // a caller that waited for the end sees the status after it
  if (finished_) finished_(action);
}

// ---- operators ---------------------------------------------------------------------------------

// A caller that ordered a change sees it in the next status, however long the last one would be
// shared.
template <typename Action>
void Engine::Answer(const Action& action) {
  follower_.ForgetStatus();
  requests_.Answer(action);
}
void Engine::Do(const core::AnswerTransfer& action) { Answer(action); }
void Engine::Do(const core::AnswerChange& action) { Answer(action); }
void Engine::Do(const core::AnswerRetry& action) { Answer(action); }
void Engine::Do(const core::AnswerNodeChange& action) { Answer(action); }

// Only this node's history has it, because nothing in etcd says who changed a member's record.
void Engine::Do(const core::ReportNodeChange& action) { follower_.AddToHistory(action); }

// A node that wakes up past its deadline may be asked for its status before it has taken a step.
NodeStatus Engine::MakeStatus(TimePoint now, StatusBoard& board) const {
  if (core_.session().live(now) != was_live_) {
    for (const auto& [shard, held] : core_.leaderships().held()) board.Note(shard);
  }
  NodeStatus status = StatusOf(core_, now, board);
  status.counters.transitions = transitions_;
  status.counters.callbacks_failed += standby_callbacks_failed_;
  return status;
}

}  // namespace baton::runtime
