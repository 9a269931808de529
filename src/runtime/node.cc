// Node: creates the parts, and starts and ends their threads in order.
#include "baton/node.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <optional>

#include "base/fork_wiped_words.h"
#include "base/limits.h"
#include "base/not_forked.h"
#include "baton/version.h"
#include "etcd/grpc/transport.h"
#include "runtime/call_stats.h"
#include "runtime/doctor/doctor.h"
#include "runtime/engine.h"
#include "runtime/finish_callbacks.h"
#include "runtime/guard/start_own_guard.h"
#include "runtime/history.h"
#include "runtime/loop.h"
#include "runtime/newest_health.h"
#include "runtime/node_application.h"
#include "runtime/node_log.h"
#include "runtime/node_options.h"
#include "runtime/planner.h"
#include "runtime/state_lock.h"
#include "runtime/state_writer.h"
#include "runtime/transition_log.h"
#include "runtime/watchdog.h"

namespace baton {
namespace {

// Stop and Drain wait this much longer than the core's own limits, then go on without it.
constexpr std::chrono::seconds kFinishGrace{30};
constexpr std::chrono::milliseconds kLookAgain{100};  // how often WaitReady looks at the clock

const Error kEnded{ErrorCode::kUnavailable, "the node has drained or stopped; start another one"};
const Error kForkedChild{ErrorCode::kFailedPrecondition,
                         "this process is a forked child: the node runs in its parent alone"};

}  // namespace

class Node::Impl final : public runtime::Control {
 public:
  Impl(NodeOptions options, std::shared_ptr<Listener> listener,
       std::shared_ptr<runtime::Application> application, std::unique_ptr<runtime::StateLock> lock)
      : options_(std::move(options)),
        log_(options_.log, options_.log_level, {.group = options_.group, .node = options_.node}),
        listener_(std::move(listener)),
        application_(std::move(application)),
        lock_(std::move(lock)),
        history_(
            std::make_shared<runtime::History>(options_.group, options_.node, options_.history)),
        table_(options_.shards, Clock::Real()),
        dispatcher_(options_.callback_threads),
        doctor_(*this, {.group = options_.group,
                        .node = options_.node,
                        .etcd = options_.etcd,
                        .ttl_asked = options_.ttl}) {}
  ~Impl() override { Stop(); }

  /// Checks the options, takes the lock, and begins. REQUIRES: no listener beside an application.
  static Result<std::unique_ptr<Impl>> Start(NodeOptions options,
                                             std::shared_ptr<Listener> listener,
                                             std::shared_ptr<runtime::Application> application);

  Status Begin();
  Status BeginGuard();
  /// If true, no method but LeadershipOf may be called: none of the node's threads exists here, and
  /// its locks may be held for ever.
  bool InForkedChild() const noexcept { return fork_mark_.InForkedChild(); }
  void Stop();
  Status Drain();
  Status WaitReady(std::chrono::milliseconds timeout);
  Status SetEtcdCredentials(EtcdCredentials credentials);
  void NoteAlive() noexcept;
  void SetHealthy(bool healthy);
  void SetStandbyReady(ShardId shard, bool ready);

  void GetStatus(std::function<void(std::shared_ptr<const runtime::NodeStatus>)> handler) override;
  bool Alive() const noexcept override;
  bool Ready() const noexcept override { return ready_.load() && table_.InTime(); }
  std::optional<TimePoint> RenewedAt() const noexcept override { return table_.Renewed(); }
  baton::Leadership LeadershipOf(ShardId shard) const noexcept override {
    return table_.Get(shard);
  }
  void Request(runtime::TransferRequest request,
               std::function<void(Result<MoveFact>)> handler) override {
    PassOn(std::move(request), std::move(handler));
  }
  void Request(runtime::PolicyRequest request, std::function<void(Status)> handler) override {
    PassOn(std::move(request), std::move(handler));
  }
  void Request(runtime::RetryRequest request,
               std::function<void(Result<std::uint32_t>)> handler) override {
    PassOn(std::move(request), std::move(handler));
  }
  void Request(runtime::GroupChangeRequest request, std::function<void(Status)> handler) override {
    PassOn(std::move(request), std::move(handler));
  }
  void Request(runtime::ReleaseRequest request, std::function<void(Status)> handler) override {
    PassOn(std::move(request), std::move(handler));
  }
  void Request(runtime::NodeChangeRequest request,
               std::function<void(Result<NodeChanged>)> handler) override {
    PassOn(std::move(request), std::move(handler));
  }
  void PlanRebalance(std::function<void(Result<std::vector<MoveFact>>)> handler) override {
    planner_.Plan(std::move(handler));
  }
  void Log(LogLevel level, std::string_view message, log::Fields fields) override {
    log_.Write(level, message, fields);
  }
  std::shared_ptr<const runtime::History> history() const override { return history_; }
  void Examine(runtime::ExamineRequest request,
               std::function<void(Result<runtime::Diagnosis>)> handler) override {
    doctor_.Examine(request, std::move(handler));
  }
  void AddObserver(std::shared_ptr<runtime::Observer> observer) override;
  void AddRouteObserver(std::shared_ptr<runtime::RouteObserver> observer) override;
  std::map<std::pair<std::string, std::string>, CallStats> EtcdCalls() const override {
    return calls_.Get();
  }
  std::optional<runtime::GuardCounters> Guard() const override {
    if (guard_ != nullptr) return guard_->counters();
    if (no_guard_.empty()) return std::nullopt;
    return runtime::GuardCounters{.cannot_act = no_guard_};
  }

 private:
  /// False: the node has stopped, and the function will not run.
  template <typename Function>
  bool OnLoop(Function function);
  /// Passes an operator's request to the engine.
  template <typename AnyRequest, typename Handler>
  void PassOn(AnyRequest request, Handler handler) {
    const bool taken = OnLoop([request = std::move(request), handler](runtime::Engine& engine) {
      engine.Request(request, handler);
    });
    if (!taken) handler(runtime::kNodeStopped);
  }
  /// Asks the core to end, and waits until it has.
  std::optional<core::Finished> Finish(const core::Event& how, std::chrono::milliseconds bound);
  /// Whether the application is another process that may act but can't be reached at the moment.
  bool Detached() const {
    return application_ != nullptr && application_->state() == core::ApplicationState::kDetached;
  }

  const ForkMark fork_mark_;
  const NodeOptions options_;
  runtime::NodeLog log_;
  const std::shared_ptr<Listener> listener_;
  const std::shared_ptr<runtime::Application> application_;
  std::unique_ptr<runtime::OwnGuard> guard_;      // ends once the lock is let go
  std::string no_guard_;                          // StartedGuard::cannot_act; set by Begin
  std::unique_ptr<runtime::StateLock> lock_;      // until Begin
  std::unique_ptr<runtime::StateWriter> record_;  // closed last: see StateLock
  const std::shared_ptr<runtime::History> history_;
  const std::shared_ptr<runtime::NewestHealth> health_ = std::make_shared<runtime::NewestHealth>();
  runtime::LeadershipTable table_;
  runtime::CallStatsRecorder calls_;
  std::unique_ptr<runtime::Loop> loop_;
  std::unique_ptr<etcd::GrpcTransport> transport_;  // moved out under mutex_
  runtime::ThreadPoolDispatcher dispatcher_;
  std::shared_ptr<runtime::Engine> engine_;      // the loop's, except for SetStandbyReady
  std::shared_ptr<runtime::Watchdog> watchdog_;  // null: there is none

  std::atomic<bool> ready_{false};
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::optional<Error> halted_;
  std::optional<core::Finished> finished_;
  bool accepting_ = false;               // whether OnLoop takes functions
  runtime::NodeCounters last_counters_;  // written before accepting_ is cleared, read after
  bool stopping_ = false;
  bool stopped_ = false;
  runtime::Doctor doctor_;  // this and planner_ are last, because their threads use this object
  runtime::Planner planner_{
      *this,
      [this] { OnLoop([](runtime::Engine& engine) { engine.follower().RefreshStatus(); }); }};
};

Status Node::Impl::BeginGuard() {
  const std::string why_not = runtime::WhyNoGuardActs(lock_->found(), application_ != nullptr);
  auto started = runtime::StartOwnGuard(options_, why_not, log_);
  if (!started.ok()) return started.error();
  guard_ = std::move(started.value().guard);
  no_guard_ = std::move(started.value().cannot_act);
  return Ok();
}

Status Node::Impl::Begin() {
  auto transport_options = runtime::TransportOptionsOf(options_.etcd, log_);
  transport_options.on_call = [this](std::string_view method, int code,
                                     std::chrono::nanoseconds took) {
    calls_.Record(method, code, took);
  };
  auto transport = etcd::GrpcTransport::Create(std::move(transport_options));
  if (!transport.ok()) return transport.error();
  transport_ = std::move(transport).value();
  core::CoreOptions core_options = runtime::CoreOptionsOf(options_);
  etcd::Keyspace keyspace(options_.etcd.prefix, options_.group);
  core_options.config_key = keyspace.ConfigKey();
  core_options.has_listener = listener_ != nullptr || application_ != nullptr;
  core_options.external = application_ != nullptr;
  // The node's own gRPC server is not the application's.
  if (application_ != nullptr) core_options.self.service_address = options_.service_address;
  if (lock_ != nullptr) {
    const runtime::StateLockFound& found = lock_->found();
    if (!found.never_proof.empty()) {
      log_.Warn(found.never_proof);
    } else if (!found.no_proof.empty()) {
      log_.Info("no proof that an earlier process of this node is dead: " + found.no_proof);
    }
    if (!found.directory_problem.empty()) log_.Warn(found.directory_problem);
    if (Status begun = BeginGuard(); !begun.ok()) return begun;
    core_options.self.directory = found.directory;
    core_options.proven_dead = found.proven_dead;
    core_options.stopped_sessions = found.stopped_sessions;
    core_options.highest_committed = found.highest_committed;
    record_ = std::make_unique<runtime::StateWriter>(std::move(lock_), Clock::Real());
  }
  loop_ = std::make_unique<runtime::Loop>();
  runtime::EngineParts parts{.transport = *transport_,
                             .clock = Clock::Real(),
                             .executor = *loop_,
                             .dispatcher = dispatcher_,
                             .table = table_,
                             .record = record_.get(),
                             .listener = listener_,
                             .application = application_,
                             .history = history_,
                             .log = log_};
  engine_ = std::make_shared<runtime::Engine>(std::move(core_options), std::move(keyspace),
                                              options_.group, std::move(parts));
  engine_->follower().AddObserver(std::make_shared<runtime::TransitionLog>(log_));
  engine_->OnReady([this](bool ready) {
    ready_.store(ready);
    if (ready && watchdog_ != nullptr) watchdog_->Begin();
    std::lock_guard lock(mutex_);
    changed_.notify_all();
  });
  engine_->follower().OnHalted([this](const Error& why) {
    std::lock_guard lock(mutex_);
    halted_ = why;
    changed_.notify_all();
  });
  engine_->OnFinished([this](const core::Finished& finished) {
    std::lock_guard lock(mutex_);
    finished_ = finished;
    changed_.notify_all();
  });
  watchdog_ = runtime::Watchdog::Of(engine_, options_.watchdog, *loop_, table_);
  accepting_ = true;
  loop_->Post([engine = engine_] { engine->Start(); });
  if (guard_ != nullptr) guard_->FollowProgress(*loop_);
  return Ok();
}

template <typename Function>
bool Node::Impl::OnLoop(Function function) {
  std::lock_guard lock(mutex_);
  if (!accepting_) return false;
  loop_->Post([engine = engine_, function = std::move(function)]() mutable { function(*engine); });
  return true;
}

std::optional<core::Finished> Node::Impl::Finish(const core::Event& how,
                                                 std::chrono::milliseconds bound) {
  // The program lives, and may call Alive no more from now on: this call holds it up.
  if (watchdog_ != nullptr) watchdog_->End();
  OnLoop([how](runtime::Engine& engine) { engine.Step(how); });
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, bound, [&] { return finished_.has_value() || stopped_; });
  return finished_;
}

Status Node::Impl::Drain() {
  {
    std::lock_guard lock(mutex_);
    if (halted_) return Error{ErrorCode::kFailedPrecondition, halted_->message};
  }
  const bool detached = Detached();
  // Another process is also asked to release the shards that are late, before they are resigned.
  const auto asking = application_ != nullptr ? options_.release_timeout + options_.callback_timeout
                                              : std::chrono::milliseconds(0);
  const auto finished =
      Finish(core::DrainRequested{}, options_.drain_timeout + asking + kFinishGrace);
  // If the node could not ask the application for a shard, it gave the shard up after the last
  // deadline that the application got, or leaves it to the lease.
  const bool alone = detached || Detached();
  if (alone && !(finished && finished->drained)) {
    return Error{finished && !finished->lease_left ? ErrorCode::kTimedOut : ErrorCode::kUnavailable,
                 std::string("the application was not connected and could not be asked to stop") +
                     (!finished || finished->lease_left ? ", and etcd did not answer" : "") +
                     ": its shards are led elsewhere only after the last deadline that it "
                     "received"};
  }
  if (!finished || finished->lease_left) {
    return Error{ErrorCode::kUnavailable,
                 "etcd did not answer, or the group was not read yet; a lease ends by itself"};
  }
  if (!finished->drained) {
    return Error{
        ErrorCode::kTimedOut,
        "not every shard could be handed over before the drain timeout, or before the session or "
        "the application was lost; the rest was given up"};
  }
  return Ok();
}

// The order: first the loop's parts, on the loop; then the callbacks; then the transport, which
// posts to the loop; then the loop. The lock is released last, with the object.
void Node::Impl::Stop() {
  {
    std::unique_lock lock(mutex_);
    if (std::exchange(stopping_, true)) {
      changed_.wait(lock, [&] { return stopped_; });
      return;
    }
    changed_.notify_all();
  }
  doctor_.Stop();
  if (engine_ != nullptr) {
    Finish(core::StopRequested{}, kFinishGrace);
    std::promise<void> closed;
    loop_->Post([&] {
      engine_->follower().ForgetStatus();
      last_counters_ = engine_->follower().Status()->counters;
      engine_->Close();
      table_.SetDeadline(TimePoint::min());
      closed.set_value();
    });
    closed.get_future().wait();
  }
  runtime::FinishCallbacks(dispatcher_, log_);
  if (application_ != nullptr) application_->End();
  std::unique_ptr<etcd::GrpcTransport> transport;
  {
    std::lock_guard lock(mutex_);
    transport = std::move(transport_);
  }
  transport.reset();
  {
    std::lock_guard lock(mutex_);
    accepting_ = false;
  }
  if (loop_ != nullptr) loop_->End();
  if (guard_ != nullptr) guard_->EndProgress();
  engine_.reset();
  log_.Finish();
  std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

Status Node::Impl::WaitReady(std::chrono::milliseconds timeout) {
  const auto end = std::chrono::steady_clock::now() +
                   std::clamp(timeout, std::chrono::milliseconds(0), kLongestTimeout);
  const auto known = [&] { return Ready() || halted_ || stopping_ || finished_; };
  std::unique_lock lock(mutex_);
  // The deadline can pass and be moved on between two steps, which then tell of no change.
  while (!known() && std::chrono::steady_clock::now() < end) {
    changed_.wait_until(lock, std::min(end, std::chrono::steady_clock::now() + kLookAgain), known);
  }
  if (halted_) return Error{ErrorCode::kFailedPrecondition, halted_->message};
  if (stopping_ || finished_) return kEnded;
  if (Ready()) return Ok();
  return Error{ErrorCode::kTimedOut, "the node is not ready yet; its log says what is wrong"};
}

Status Node::Impl::SetEtcdCredentials(EtcdCredentials credentials) {
  std::lock_guard lock(mutex_);
  if (transport_ == nullptr) return kEnded;
  const Status set = transport_->SetCredentials(credentials);
  if (set.ok()) doctor_.SetEtcdCredentials(credentials);
  if (set.ok() && guard_ != nullptr) guard_->SetCredentials(credentials);
  return set;
}

void Node::Impl::NoteAlive() noexcept {
  if (watchdog_ == nullptr || !watchdog_->NoteAlive()) return;
  OnLoop([watchdog = watchdog_](runtime::Engine&) { watchdog->Look(); });
}

void Node::Impl::SetHealthy(bool healthy) {
  const auto tell = [health = health_](runtime::Engine& engine) {
    engine.Step(core::HealthChanged{health->Take()});
  };
  if (health_->Set(healthy) && !OnLoop(tell)) health_->Take();
}

void Node::Impl::SetStandbyReady(ShardId shard, bool ready) {
  std::lock_guard lock(mutex_);
  if (accepting_) engine_->SetStandbyReady(shard, ready);
}

bool Node::Impl::Alive() const noexcept {
  const Duration bound = std::max<Duration>(options_.ttl / 3, 2 * runtime::Loop::kTurn);
  return loop_ != nullptr && BootClock::now() - loop_->LastTurn() < bound;
}

void Node::Impl::GetStatus(
    std::function<void(std::shared_ptr<const runtime::NodeStatus>)> handler) {
  if (OnLoop([handler](runtime::Engine& engine) { handler(engine.follower().Status()); })) return;
  auto ended = std::make_shared<runtime::NodeStatus>();
  ended->group = options_.group;
  ended->node = options_.node;
  ended->version = kVersion;
  ended->shard_count = options_.shards;
  ended->session = runtime::SessionPhase::kEnded;
  ended->not_ready = runtime::kNodeStopped.message;
  // A counter that fell to 0 in the last scrape would report events as lost.
  ended->counters = last_counters_;
  handler(std::move(ended));
}

void Node::Impl::AddObserver(std::shared_ptr<runtime::Observer> observer) {
  OnLoop([observer = std::move(observer)](runtime::Engine& engine) {
    engine.follower().AddObserver(observer);
  });
}

void Node::Impl::AddRouteObserver(std::shared_ptr<runtime::RouteObserver> observer) {
  const bool added =
      OnLoop([observer](runtime::Engine& engine) { engine.follower().AddRouteObserver(observer); });
  if (!added) observer->OnRoutesEnded(runtime::kNodeStopped);
}

// ---- the facade --------------------------------------------------------------------------------

Result<std::unique_ptr<Node::Impl>> Node::Impl::Start(
    NodeOptions options, std::shared_ptr<Listener> listener,
    std::shared_ptr<runtime::Application> application) {
  if (Status checked = runtime::Check(options); !checked.ok()) return checked.error();
  if (Status checked = CheckNotForked(); !checked.ok()) return checked.error();
  std::unique_ptr<runtime::StateLock> lock;
  if (!options.state_dir.empty()) {
    const auto trust = options.trust_state_lock ? runtime::LockTrust::kAnyFileSystem
                                                : runtime::LockTrust::kKnownFileSystems;
    auto taken = runtime::StateLock::Take(options.state_dir, options.group, options.node,
                                          {.trust = trust,
                                           .guarded = options.guard != GuardMode::kOff,
                                           .keeps_descriptors = options.keeps_descriptors});
    if (!taken.ok()) return taken.error();
    lock = std::move(taken).value();
  }
  auto impl = std::make_unique<Impl>(std::move(options), std::move(listener),
                                     std::move(application), std::move(lock));
  if (Status begun = impl->Begin(); !begun.ok()) return begun.error();
  return impl;
}

Result<std::unique_ptr<Node>> Node::Start(NodeOptions options, std::shared_ptr<Listener> listener) {
  auto impl = Impl::Start(std::move(options), std::move(listener), nullptr);
  if (!impl.ok()) return impl.error();
  return std::unique_ptr<Node>(new Node(std::move(impl).value()));
}

Result<std::unique_ptr<Node>> runtime::NodeWithApplication::Start(
    NodeOptions options, std::shared_ptr<Application> application) {
  auto impl = Node::Impl::Start(std::move(options), nullptr, std::move(application));
  if (!impl.ok()) return impl.error();
  return std::unique_ptr<Node>(new Node(std::move(impl).value()));
}

Node::Node(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
// A forked child leaves the copy alone: its threads can't be joined.
Node::~Node() {
  if (impl_->InForkedChild()) static_cast<void>(impl_.release());
}
bool Node::Leads(ShardId shard) const noexcept { return impl_->LeadershipOf(shard).leads; }
baton::Leadership Node::Leadership(ShardId shard) const noexcept {
  return impl_->LeadershipOf(shard);
}
Status Node::WaitReady(std::chrono::milliseconds timeout) {
  return impl_->InForkedChild() ? kForkedChild : impl_->WaitReady(timeout);
}
Status Node::SetEtcdCredentials(EtcdCredentials credentials) {
  return impl_->InForkedChild() ? kForkedChild : impl_->SetEtcdCredentials(std::move(credentials));
}
void Node::Alive() noexcept {
  if (!impl_->InForkedChild()) impl_->NoteAlive();
}
void Node::SetHealthy(bool healthy) {
  if (!impl_->InForkedChild()) impl_->SetHealthy(healthy);
}
void Node::SetStandbyReady(ShardId shard, bool ready) {
  if (!impl_->InForkedChild()) impl_->SetStandbyReady(shard, ready);
}
Status Node::Drain() { return impl_->InForkedChild() ? kForkedChild : impl_->Drain(); }
void Node::Stop() {
  if (!impl_->InForkedChild()) impl_->Stop();
}
runtime::Control& Node::control() { return *impl_; }

}  // namespace baton
