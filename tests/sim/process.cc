#include "sim/process.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/growth.h"

namespace baton::sim {
namespace {

constexpr Duration kTurnLeast = microseconds(5);
constexpr Duration kTurnMost = microseconds(40);
constexpr Duration kCallbackMost = milliseconds(4);
constexpr Duration kWorkLeast = milliseconds(150);
constexpr Duration kWorkMost = milliseconds(900);
constexpr int kPauseBeforeWritePerMille = 50;
constexpr std::uint64_t kStandbys = 0x7374616E64ull << 8;  // a part of the process's random numbers

// The dice's kinds for faults that belong to no exchange.

Phases PhaseOf(const core::Leaderships::Held& held) {
  using Held = core::Leaderships;
  if (std::holds_alternative<Held::Releasing>(held.phase)) return Phase::kReleasing;
  if (std::holds_alternative<Held::Released>(held.phase)) return Phase::kReleasing;
  if (std::holds_alternative<Held::Giving>(held.phase)) return Phase::kTransferring;
  if (std::holds_alternative<Held::Abandoning>(held.phase)) return Phase::kAbandoning;
  if (std::holds_alternative<Held::Resigning>(held.phase)) return Phase::kLeaving;
  return {};
}

}  // namespace

// ---- loop and callbacks ----

void SimExecutor::Post(std::function<void()> function) {
  if (deaf_) return;
  queue_.push_back(std::move(function));
  longest_ = std::max(longest_, queue_.size());
  if (draining_) return;
  draining_ = true;
  host_.world().After(random_.Between(kTurnLeast, kTurnMost),
                      [this] { host_.Enter([this] { Drain(); }); });
}

void SimExecutor::Schedule(Duration delay, std::function<void()> function) {
  host_.After(delay, [this, function = std::move(function)] {
    Turn(function);
    if (!host_.dead()) ran_();
  });
}

void SimExecutor::Turn(const std::function<void()>& function) {
  ++turns_;
  if (!took_) return function();
  const Duration before = test::ProcessorTime();
  function();
  took_(test::ProcessorTime() - before);
}

void SimExecutor::Drain() {
  draining_ = false;
  for (std::size_t left = queue_.size(); left > 0 && !queue_.empty(); --left) {
    const std::function<void()> function = std::move(queue_.front());
    queue_.pop_front();
    Turn(function);
    if (host_.dead()) return;
    ran_();
  }
}

void SimDispatcher::Run(ShardId shard, std::function<void()> function) {
  auto& strand = strands_[shard];
  strand.push_back({.function = std::move(function),
                    .asked_at = host_.world().now(),
                    .standby = hooks_.standby(shard)});
  if (strand.size() == 1) Begin(shard);
}

void SimDispatcher::Begin(ShardId shard) {
  World& world = host_.world();
  const Duration least = hooks_.entered(strands_.at(shard).front().function);
  if (hooks_.failure(Fault::kCallbackHung)) {
    ++hung_;
    return world.Hit(Fault::kCallbackHung, hooks_.busy());
  }
  Duration takes = random_.Between(Duration{0}, kCallbackMost);
  if (const auto slow = hooks_.failure(Fault::kCallbackSlow)) {
    world.Hit(Fault::kCallbackSlow, hooks_.busy());
    takes = *slow;
  }
  host_.After(std::max(takes, least), [this, shard] {
    const auto found = strands_.find(shard);
    if (found == strands_.end()) return;
    running_ = std::move(found->second.front());
    running_.function();
    found->second.pop_front();
    if (found->second.empty()) {
      strands_.erase(found);
    } else {
      Begin(shard);
    }
  });
}

// ---- what the engine is given ----

class Process::SimRecord final : public runtime::StateRecord {
 public:
  explicit SimRecord(StateDirectory& directory) : directory_(directory) { Lock(); }
  ~SimRecord() override { LetGo(); }
  // As StateLock has it: what could not be written is kept, and written with the next record.
  Status RecordSession(const runtime::RecordedSession& session) override {
    if (session.session.value == 0 && session_.value == 0) return Ok();
    if (session.replaces.value != 0) {
      previous_ = session.replaces;
    } else if (session_.value != 0) {
      previous_ = session_;
    }
    session_ = session.session;
    if (session_.value == 0) previous_ = {};
    return Write();
  }
  Status RecordHighest(Revision revision) override {
    highest_ = std::max(highest_, revision);
    return Write();
  }
  bool locked() const { return locked_; }
  void CloseDescriptor() { closed_ = true; }
  void LetGo() {
    if (!std::exchange(locked_, false)) return;
    directory_.locked = false;
    directory_.freed();
  }

 private:
  /// A process that began while a guard stood still under its lock gets it later.
  bool Lock() {
    if (locked_) return true;
    if (directory_.locked || directory_.guards > 0) return false;
    if (previous_.value == 0) previous_ = directory_.session;
    return locked_ = directory_.locked = true;
  }
  Status Write() {
    if (closed_) return Error{ErrorCode::kUnavailable, "the program has closed the descriptor"};
    if (!Lock()) return Error{ErrorCode::kUnavailable, "a guard holds the lock"};
    if (session_.value != 0 || wrote_session_) {
      directory_.session = session_;
      directory_.previous = previous_;
      wrote_session_ = directory_.written = true;
    }
    directory_.highest = std::max(directory_.highest, highest_);
    return Ok();
  }
  StateDirectory& directory_;
  SessionId session_;
  SessionId previous_;
  Revision highest_;
  bool wrote_session_ = false;
  bool locked_ = false;
  bool closed_ = false;
};

class Process::SimListener final : public Listener {
 public:
  explicit SimListener(Process& process) : process_(process) {}
  void Prepare(ShardId shard) override { Called(shard, core::CallbackKind::kPrepare, {}); }
  void Acquired(ShardId shard, Term term) override {
    Called(shard, core::CallbackKind::kAcquired, term);
  }
  void Releasing(ShardId shard, Term term) override {
    Called(shard, core::CallbackKind::kReleasing, term);
  }
  void Lost(ShardId shard, Term term, Reason) override {
    Called(shard, core::CallbackKind::kLost, term);
  }
  void Suspended(ShardId shard, Term term) override {
    Called(shard, core::CallbackKind::kSuspended, term);
  }
  void Resumed(ShardId shard, Term term) override {
    Called(shard, core::CallbackKind::kResumed, term);
  }
  void Standby(ShardId shard) override { Called(shard, core::CallbackKind::kStandby, {}); }
  void StandbyEnded(ShardId shard) override {
    Called(shard, core::CallbackKind::kStandbyEnded, {});
  }

 private:
  void Called(ShardId shard, core::CallbackKind kind, Term term) {
    if (process_.entering_) return Entered(shard, kind, term);
    process_.parts_.observer.Called(process_, shard, kind, term);
    StandBy(shard, kind);
    const bool broken = kind == core::CallbackKind::kAcquired &&
                        process_.parts_.callbacks.broken_disks.contains(process_.node());
    if (!broken && !process_.Failure(Fault::kCallbackThrew)) return;
    process_.parts_.world.Hit(Fault::kCallbackThrew, process_.Busy());
    process_.parts_.observer.Threw(process_, shard, kind, term);
    throw std::runtime_error("the application failed");
  }
  void Entered(ShardId shard, core::CallbackKind kind, Term term) {
    if (kind == core::CallbackKind::kAcquired) process_.loads_ = process_.standbys_.Loads(shard);
    process_.parts_.observer.Entered(process_, shard, kind, term);
  }
  void StandBy(ShardId shard, core::CallbackKind kind) {
    StandbyApplication& standbys = process_.standbys_;
    if (kind == core::CallbackKind::kStandby) {
      standbys.Begin(shard, process_.dispatcher_.standby());
    } else if (kind == core::CallbackKind::kPrepare) {
      standbys.Prepare(shard);
    } else if (kind == core::CallbackKind::kAcquired || kind == core::CallbackKind::kLost ||
               kind == core::CallbackKind::kStandbyEnded) {
      standbys.End(shard);
    }
  }
  Process& process_;
};

class Process::SimObserver final : public runtime::Observer {
 public:
  explicit SimObserver(Process& process) : process_(process) {}
  void OnTransition(const Transition& transition) override {
    process_.parts_.observer.Reported(process_, transition);
  }

 private:
  Process& process_;
};

// ---- the process ----

Process::Process(ProcessParts parts, core::CoreOptions options, int number)
    : parts_(std::move(parts)),
      node_(options.self.node),
      shards_(options.shards),
      host_(parts_.world, parts_.clock, number),
      random_(parts_.random.Fork()),
      executor_(host_, parts_.random.Fork(), [this] { parts_.observer.Ran(*this); }),
      dispatcher_(host_, parts_.random.Fork(),
                  {.failure = [this](Fault fault) { return Failure(fault); },
                   .busy = [this] { return Busy(); },
                   .entered = [this](const auto& callback) { return Enter(callback); },
                   .standby =
                       [this](ShardId shard) {
                         return engine_->core().standby_duties().OperationOf(shard);
                       }}),
      // A copy: what is drawn from the others stays as it is.
      standbys_(host_, Random(Mixed(Random(parts_.random).Next(), kStandbys)),
                parts_.callbacks.standbys,
                [this](const core::StandbyReadySaid& said) { Say(said); }),
      transport_(
          {.world = parts_.world,
           .etcd = parts_.etcd,
           .host = host_,
           .faults = parts_.network,
           .dice = parts_.dice,
           .random = parts_.random.Fork(),
           .next_version = parts_.next_version,
           .role = &NodeRole(),
           .sent = [this](const pb::TxnRequest& sent) { parts_.observer.Sent(*this, sent); }}),
      table_(shards_, parts_.clock) {
  options.random = [random = parts_.random.Fork()]() mutable { return random.Next(); };
  options = WithRecord(std::move(options));
  runtime::EngineParts engine_parts{.transport = transport_,
                                    .clock = parts_.clock,
                                    .executor = executor_,
                                    .dispatcher = dispatcher_,
                                    .table = table_,
                                    .record = record_.get(),
                                    .listener = options.has_listener
                                                    ? std::make_shared<SimListener>(*this)
                                                    : std::shared_ptr<SimListener>()};
  engine_ = std::make_shared<runtime::Engine>(std::move(options),
                                              etcd::Keyspace(etcd::kDefaultPrefix, kGroup), kGroup,
                                              std::move(engine_parts));
  engine_->follower().AddObserver(std::make_shared<SimObserver>(*this));
  engine_->follower().OnHalted([this](const Error& why) {
    halted_ = true;
    parts_.observer.Halted(*this, why);
  });
  engine_->OnFinished([this](const core::Finished& finished) {
    parts_.observer.Finished(*this, finished);
    executor_.Schedule(milliseconds(1), [this] { Leave(); });
  });
}

Process::~Process() { Kill(); }

// Does what StateLock::Take does: finds the directory's sessions, unless a guard holds the lock.
core::CoreOptions Process::WithRecord(core::CoreOptions options) {
  if (parts_.directory == nullptr) return options;
  StateDirectory& directory = *parts_.directory;
  BATON_CHECK(!directory.locked);
  record_ = std::make_unique<SimRecord>(directory);
  if (!record_->locked()) return options;
  options.highest_committed = directory.highest;
  for (const SessionId dead : {directory.session, directory.previous}) {
    if (dead.value != 0) options.proven_dead.push_back(dead);
  }
  options.stopped_sessions = options.proven_dead;
  proven_ = !options.proven_dead.empty();
  return options;
}

void Process::Start() {
  executor_.Post([this] { engine_->Start(); });
  Work();
}

void Process::Kill() {
  if (host_.dead()) return;
  host_.Die();
  transport_.Abandon();
  executor_.Clear();
  dispatcher_.Clear();
  engine_->Close();
  engine_.reset();
  if (record_ != nullptr && children_ == 0) record_->LetGo();
}

void Process::CloseDescriptors() {
  if (alive() && record_ != nullptr) record_->CloseDescriptor();
}

void Process::EndChild() {
  BATON_CHECK(forked());
  --children_;
  if (gone() && record_ != nullptr) record_->LetGo();
}

void Process::Pause() { host_.Pause(); }
void Process::Suspend() { host_.Suspend(); }
void Process::Resume() { host_.Resume(); }

// Only the function knows which callback it is. So it is run once more, and nobody hears that it
// returned.
Duration Process::Enter(const std::function<void()>& callback) {
  entering_ = true;
  executor_.SetDeaf(true);
  callback();
  executor_.SetDeaf(false);
  entering_ = false;
  return std::exchange(loads_, {});
}

void Process::Say(const core::StandbyReadySaid& said) {
  executor_.Post([this, said] { engine_->Step(core::StandbysReadySaid{{said}}); });
}

// Does what Node::Stop does once the core is finished: the process ends when its callbacks have
// returned.
void Process::Leave() {
  if (!dispatcher_.idle()) return executor_.Schedule(milliseconds(20), [this] { Leave(); });
  parts_.observer.Leaves(*this);
  Kill();
}

void Process::Drain() {
  leaving_ = true;
  executor_.Post([this] { engine_->Step(core::DrainRequested{}); });
}

void Process::SetHealthy(bool healthy) {
  executor_.Post([this, healthy] { engine_->Step(core::HealthChanged{healthy}); });
}

void Process::SetSilent(bool silent) {
  const auto state = silent ? core::ApplicationState::kAbsent : core::ApplicationState::kAttached;
  executor_.Post([this, state] {
    silent_ = state == core::ApplicationState::kAbsent;
    engine_->Step(core::ApplicationChanged{state});
  });
}

void Process::Stop() {
  leaving_ = true;
  executor_.Post([this] { engine_->Step(core::StopRequested{}); });
}

Phases Process::Busy() const {
  Phases busy = transport_.Open();
  const core::Core& core = engine_->core();
  for (const auto& [shard, held] : core.leaderships().held()) busy |= PhaseOf(held);
  if (!core.incoming_moves().empty()) busy |= Phase::kPreparing;
  if (core.suspended(parts_.clock.Now())) busy |= Phase::kSuspended;
  if (leaving_) busy |= Phase::kLeaving;
  if (!core.session().member() && !busy.Has(Phase::kTakingOver)) busy |= Phase::kJoining;
  return busy.empty() ? Phases(Phase::kIdle) : busy;
}

std::optional<Duration> Process::Failure(Fault fault) {
  const CallbackFaults& callbacks = parts_.callbacks;
  const auto rolls = [&](int per_mille, Duration most) {
    return parts_.dice.StrikesFor(fault, kCallbackPhase, per_mille, most);
  };
  std::optional<Duration> length;
  switch (fault) {
    case Fault::kCallbackHung: length = rolls(callbacks.hangs, {}); break;
    case Fault::kCallbackSlow: length = rolls(callbacks.slow, callbacks.slow_most); break;
    case Fault::kCallbackThrew: length = rolls(callbacks.throws, {}); break;
    default: {
      const bool pauses = app_pause_most > Duration{0};
      length = rolls(pauses ? kPauseBeforeWritePerMille : 0, app_pause_most);
    }
  }
  if (parts_.armed.empty()) return length;
  const auto meant = std::find_if(parts_.armed.begin(), parts_.armed.end(), [&](const auto& armed) {
    return armed.fault == fault && Busy().Has(armed.phase);
  });
  if (meant == parts_.armed.end()) return length;
  length = meant->length;
  parts_.armed.erase(meant);
  return length;
}

// The application: it looks whether it leads, and writes a moment later, or much later.
void Process::Work() {
  host_.After(random_.Between(kWorkLeast, kWorkMost), [this] {
    Work();
    LookAndWrite(ShardId{static_cast<std::uint32_t>(random_.Below(shards_))});
  });
}

void Process::LookAndWrite(ShardId shard) {
  const Leadership led = table_.Get(shard);
  if (!led.leads) return;
  Duration takes = random_.Between(Duration{0}, kCallbackMost);
  if (const auto pause = Failure(Fault::kPauseBeforeWrite)) {
    parts_.world.Hit(Fault::kPauseBeforeWrite, Busy());
    takes = *pause;
  }
  host_.After(takes, [this, shard, term = led.term] { parts_.observer.Wrote(*this, shard, term); });
}

void Process::WriteIfArmed() {
  const auto& held = core().leaderships().held();
  const bool armed = std::any_of(parts_.armed.begin(), parts_.armed.end(), [&](const auto& one) {
    return one.fault == Fault::kPauseBeforeWrite && Busy().Has(one.phase);
  });
  if (armed && !held.empty()) LookAndWrite(held.begin()->first);
}

}  // namespace baton::sim
