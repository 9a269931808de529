#include "runtime/relay.h"

#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "base/limits.h"
#include "baton/version.h"
#include "etcd/grpc/transport.h"
#include "etcd/keyspace.h"
#include "runtime/call_stats.h"
#include "runtime/doctor/doctor.h"
#include "runtime/history.h"
#include "runtime/loop.h"
#include "runtime/node_options.h"
#include "runtime/relay_engine.h"

namespace baton::runtime {
namespace {

// A relay has no lease to measure its loop by: a loop without a turn for this long is stuck.
constexpr Duration kStuck = std::chrono::seconds(3);

const Error kChangesNothing{ErrorCode::kUnimplemented, kRelayMakesNoChanges};

}  // namespace

class Relay::Impl final : public Control {
 public:
  explicit Impl(RelayOptions options)
      : options_(std::move(options)),
        history_(std::make_shared<History>(options_.group, options_.name, options_.history)),
        doctor_(*this, {.group = options_.group, .node = options_.name, .etcd = options_.etcd}) {}
  ~Impl() override { Stop(); }

  Status Begin() {
    auto transport_options = TransportOptionsOf(options_.etcd);
    transport_options.on_call = [this](std::string_view method, int code,
                                       std::chrono::nanoseconds took) {
      calls_.Record(method, code, took);
    };
    auto transport = etcd::GrpcTransport::Create(std::move(transport_options));
    if (!transport.ok()) return transport.error();
    transport_ = std::move(transport).value();
    loop_ = std::make_unique<Loop>();
    engine_ = std::make_shared<RelayEngine>(
        FollowerParts{.group = options_.group,
                      .name = options_.name,
                      .keyspace = etcd::Keyspace(options_.etcd.prefix, options_.group),
                      .transport = *transport_,
                      .clock = Clock::Real(),
                      .executor = *loop_,
                      .random = RandomNumbers(),
                      .history = history_});
    engine_->OnProven([this](TimePoint at) { proven_at_ = at.time_since_epoch().count(); });
    engine_->follower().OnHalted([this](const Error&) { halted_ = true; });
    accepting_ = true;
    loop_->Post([engine = engine_] { engine->Start(); });
    return Ok();
  }

  void Stop() {
    {
      const std::lock_guard lock(mutex_);
      if (!std::exchange(accepting_, false)) return;
    }
    doctor_.Stop();
    std::promise<void> closed;
    loop_->Post([&] {
      engine_->Close();
      closed.set_value();
    });
    closed.get_future().wait();
    proven_at_ = kNever;
    std::unique_ptr<etcd::GrpcTransport> transport;
    {
      const std::lock_guard lock(mutex_);
      transport = std::move(transport_);
    }
    transport.reset();
    loop_->End();
    engine_.reset();
  }

  Status SetEtcdCredentials(EtcdCredentials credentials) {
    const std::lock_guard lock(mutex_);
    if (transport_ == nullptr) return kRelayStopped;
    const Status set = transport_->SetCredentials(credentials);
    if (set.ok()) doctor_.SetEtcdCredentials(credentials);
    return set;
  }

  // Control.
  void GetStatus(std::function<void(std::shared_ptr<const NodeStatus>)> handler) override {
    if (OnLoop([handler](RelayEngine& engine) { handler(engine.follower().Status()); })) return;
    auto ended = std::make_shared<NodeStatus>();
    ended->group = options_.group;
    ended->node = options_.name;
    ended->version = kVersion;
    ended->session = SessionPhase::kEnded;
    ended->not_ready = kRelayStopped.message;
    handler(std::move(ended));
  }
  bool Alive() const noexcept override { return BootClock::now() - loop_->LastTurn() < kStuck; }
  bool Ready() const noexcept override { return proven_at_ != kNever && !halted_; }
  std::string ReadyWords() const override {
    const Duration::rep proven_at = proven_at_;
    if (proven_at == kNever) return kRelayStopped.message;  // Stop came after Ready
    const Duration age = BootClock::now() - TimePoint(Duration(proven_at));
    const auto shown = std::chrono::duration_cast<std::chrono::milliseconds>(age);
    return fmt::format("ready, the view's age is {} ms{}", shown.count(),
                       age > RelayEngine::kStaleAfter ? ", stale" : "");
  }
  baton::Leadership LeadershipOf(ShardId shard) const noexcept override {
    return {.shard = shard, .term = {}, .leads = false, .activated = false};
  }
  void Request(TransferRequest, std::function<void(Result<MoveFact>)> handler) override {
    handler(kChangesNothing);
  }
  void Request(PolicyRequest, std::function<void(Status)> handler) override {
    handler(kChangesNothing);
  }
  void Request(RetryRequest, std::function<void(Result<std::uint32_t>)> handler) override {
    handler(kChangesNothing);
  }
  void Request(GroupChangeRequest, std::function<void(Status)> handler) override {
    handler(kChangesNothing);
  }
  void Request(ReleaseRequest, std::function<void(Status)> handler) override {
    handler(kChangesNothing);
  }
  void Request(NodeChangeRequest, std::function<void(Result<NodeChanged>)> handler) override {
    handler(kChangesNothing);
  }
  void PlanRebalance(std::function<void(Result<std::vector<MoveFact>>)> handler) override {
    handler(kChangesNothing);
  }
  std::shared_ptr<const History> history() const override { return history_; }
  void Examine(ExamineRequest request, std::function<void(Result<Diagnosis>)> handler) override {
    doctor_.Examine(request, std::move(handler));
  }
  void AddObserver(std::shared_ptr<Observer> observer) override {
    OnLoop([observer](RelayEngine& engine) { engine.follower().AddObserver(observer); });
  }
  void AddRouteObserver(std::shared_ptr<RouteObserver> observer) override {
    const bool added =
        OnLoop([observer](RelayEngine& engine) { engine.follower().AddRouteObserver(observer); });
    if (!added) observer->OnRoutesEnded(kRelayStopped);
  }
  std::map<std::pair<std::string, std::string>, CallStats> EtcdCalls() const override {
    return calls_.Get();
  }

 private:
  static constexpr std::int64_t kNever = INT64_MIN;

  /// False: the relay has stopped, and the function will not run.
  template <typename Function>
  bool OnLoop(Function function) {
    const std::lock_guard lock(mutex_);
    if (!accepting_) return false;
    loop_->Post([engine = engine_, function = std::move(function)] { function(*engine); });
    return true;
  }

  const RelayOptions options_;
  const std::shared_ptr<History> history_;
  CallStatsRecorder calls_;
  std::unique_ptr<Loop> loop_;
  std::unique_ptr<etcd::GrpcTransport> transport_;  // moved out under mutex_
  std::shared_ptr<RelayEngine> engine_;             // only the loop uses it
  std::atomic<std::int64_t> proven_at_{kNever};
  std::atomic<bool> halted_{false};
  std::mutex mutex_;
  bool accepting_ = false;  // guarded by mutex_
  Doctor doctor_;           // last, because its thread uses this object
};

Result<std::unique_ptr<Relay>> Relay::Start(RelayOptions options) {
  if (Status checked = etcd::Keyspace::Validate(options.etcd.prefix, options.group); !checked) {
    return checked.error();
  }
  if (options.history < 1 || options.history > kMaxHistory) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("history is {}; give 1 to {}", options.history, kMaxHistory)};
  }
  auto impl = std::make_unique<Impl>(std::move(options));
  if (Status begun = impl->Begin(); !begun) return begun.error();
  return std::unique_ptr<Relay>(new Relay(std::move(impl)));
}

Relay::Relay(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Relay::~Relay() = default;
Status Relay::SetEtcdCredentials(EtcdCredentials credentials) {
  return impl_->SetEtcdCredentials(std::move(credentials));
}
void Relay::Stop() { impl_->Stop(); }
Control& Relay::control() { return *impl_; }

}  // namespace baton::runtime
