#include "sim/simulation.h"

#include <algorithm>
#include <utility>

namespace baton::sim {
namespace {

constexpr Duration kTick = milliseconds(250);
// The next full read repairs a view that missed a deletion.
constexpr Duration kRepairBound = core::kAuditEvery + seconds(60);
constexpr Duration kQuietLength = seconds(20);
// The time for a move's step if etcd commits at once.
constexpr Duration kStepBound = seconds(1);
// Seen: 6 to 27. A process that ticks without need, or more and more, exceeds it.
constexpr std::uint64_t kQuietEventsPerNodeAndSecond = 40;

// Below these a run says too little.
constexpr std::uint64_t kFewestLeaderChanges = 3;
constexpr std::uint64_t kFewestFaults = 5;

constexpr int kStopsWithin = 3000;  // milliseconds

// Parts of the seed.
constexpr std::uint64_t kSchedule = 0x5C4ED;
constexpr std::uint64_t kGuards = 0x6775617264ull << 8;
constexpr std::uint64_t kFailover = 0x6661696C6F76ull << 8;
constexpr std::uint64_t kPlacement = 0x706C61636500ull << 8;
constexpr std::uint64_t kDirectories = 0x646972656374ull << 8;
constexpr std::uint64_t kHealth = 0x6865616C7468ull << 8;
constexpr std::uint64_t kFiles = 0x66696C657300ull << 8;
constexpr std::uint64_t kStalls = 0x7374616C6C73ull << 8;

CheckerOptions CheckerOptionsOf(const Plan& plan) {
  CheckerOptions options;
  options.shards = plan.core.shards;
  options.ttl = plan.core.ttl;
  options.settle = plan.core.settle;
  options.prepare_timeout = plan.core.prepare_timeout;
  options.release_timeout = plan.core.release_timeout;
  options.callback_timeout = plan.core.callback_timeout;
  // A process that etcd once refused for a write's size may write shard after shard, flat and then
  // nested.
  options.step_bound = kStepBound + 2 * plan.core.shards * plan.etcd.commit_most;
  options.expect_nodes = plan.core.expect_nodes;
  options.max_moves = plan.core.max_moves;
  // A lease, an etcd leader lost meanwhile, the scan, the settle time and the brake's, three
  // successors passed over, and a watch that stands still.
  options.failover_bound = 2 * Duration(plan.core.ttl) + 2 * plan.core.settle + seconds(15);
  return options;
}

std::uint64_t HitsOf(const FaultCounts& faults, Fault fault) {
  return faults[static_cast<std::size_t>(fault)];
}

}  // namespace

Simulation::Simulation(const RunOptions& options)
    : health_random_(Mixed(options.seed, kHealth)),
      failover_random_(Mixed(options.seed, kFailover)),
      placement_random_(Mixed(options.seed, kPlacement)),
      stalls_random_(Mixed(options.seed, kStalls)),
      files_random_(Mixed(options.seed, kFiles)),
      plan_(options.storms ? DrawStormPlan(options.seed) : DrawPlan(options.seed)),
      world_(options.seed, options.verbose),
      schedule_(Mixed(options.seed, kSchedule)),
      random_(world_.random().Fork()),
      first_(options.first),
      network_(plan_.network),
      callbacks_(plan_.callbacks),
      etcd_(world_, plan_.etcd),
      keyspace_(etcd::kDefaultPrefix, kGroup) {
  if (options.failover) {
    plan_.failover = {{.at = {}, .settings = *options.failover}};
    plan_.failover_given = true;
    plan_.leaders_crash = !options.storms;
    plan_.placement.clear();
    plan_.placement_in_calm.clear();
    plan_.placement_to_rest.clear();
    plan_.standbys = false;
    plan_.callbacks.standbys = callbacks_.standbys = {};
  }
  if (options.only) world_.injection().AllowOnly(*options.only);
  world_.injection().Force(options.forced);
  if (options.keep_records) world_.injection().KeepRecords();
  for (int member = 0; member < EtcdModel::kMembers; ++member) {
    etcd_.SetClockRate(member, random_.Between(-plan_.most_ppm, plan_.most_ppm));
  }
  etcd_.LoseDeletions(plan_.lose_deletions);
  const bool weighted = random_.Chance(300);
  for (int n = 1; n <= plan_.nodes; ++n) {
    Machine& machine = machines_.emplace_back();
    machine.node = "n" + std::to_string(n);
    // Drawn one by one: compilers differ in which argument they evaluate first.
    const Duration up = random_.Between(Duration(seconds(1)), Duration(seconds(100'000)));
    const int rate = random_.Between(-plan_.most_ppm, plan_.most_ppm);
    machine.directory.id = Mixed(options.seed, kDirectories + static_cast<std::uint64_t>(n)) | 1;
    machine.clock = std::make_unique<HostClock>(world_, rate, up);
    machine.dice = std::make_unique<Dice>(world_, options.seed, static_cast<std::uint32_t>(n));
    machine.next_version = random_.Chance(plan_.next_version);
    if (weighted) machine.settings.weight = static_cast<std::uint32_t>(random_.Between(1, 4));
  }
  StartGuards();
  checkers_ = std::make_unique<Checkers>(world_, etcd_, processes_, CheckerOptionsOf(plan_));
  checkers_->WhenRan([this](Process& process) {
    ConsiderStrike(process);
    if (!failures_.empty()) process.WriteIfArmed();
  });
  fields_ = std::make_unique<FieldsKept>(etcd_, *checkers_);
  etcd_.Observe(fields_.get());
  world_.TellBegun([this](int process, Phase phase) { Began(process, phase); });
  world_.TellEverybody([this] { return EverybodyBusy(); });
  etcd_.TellHolder([this](std::int64_t lease) { return HolderBusy(SessionId{lease}); });
}

// Engines must end before the objects that they point to.
Simulation::~Simulation() {
  for (const auto& process : processes_) process->Kill();
}

// ---- processes ----

// A guard may die for good; the machine then has one less.
void Simulation::StartGuards() {
  for (Machine& machine : machines_) {
    machine.directory.guarded = plan_.guards > 0;
    const auto index = static_cast<std::uint64_t>(&machine - machines_.data());
    Random random(Mixed(plan_.seed, kGuards + index));
    for (int i = 0; i < plan_.guards; ++i) {
      AddGuard(machine, random.Fork());
      if (!random.Chance(100)) continue;
      const Duration lives = random.Between(Duration{0}, plan_.troubles);
      world_.After(lives, [guard = machine.guards.back().get()] { guard->Die(); });
    }
    machine.directory.freed = [&machine] {
      for (const auto& guard : machine.guards) guard->LockFreed();
    };
  }
}

void Simulation::AddGuard(Machine& machine, Random random) {
  machine.guards.push_back(std::make_unique<Guard>(GuardParts{.world = world_,
                                                              .etcd = etcd_,
                                                              .clock = *machine.clock,
                                                              .network = network_,
                                                              .dice = *machine.dice,
                                                              .node = machine.node,
                                                              .directory = machine.directory,
                                                              .forged = ForgedFor(machine)},
                                                   random));
}

Process* Simulation::ProcessOf(Machine& machine) {
  if (machine.process < 0) return nullptr;
  Process* process = processes_[static_cast<std::size_t>(machine.process)].get();
  return process->alive() ? process : nullptr;
}

// A machine runs one process of its node at a time: a second one finds the lock taken.
bool Simulation::Start(Machine& machine) {
  if (ProcessOf(machine) != nullptr) return false;
  const bool without = random_.Chance(200);
  const bool free = plan_.state_directories && !machine.directory.locked;
  StartWith(machine, free && !without ? &machine.directory : nullptr);
  return true;
}

void Simulation::StartWith(Machine& machine, StateDirectory* directory) {
  const bool again = machine.process >= 0;
  Launch(machine, *machine.dice, directory);
  const bool proven = processes_.back()->proven();
  if (again) world_.Hit(Fault::kRestart, proven ? Phase::kTakingOver : Phase::kJoining);
}

// The disk is replaced. REQUIRES: nobody has its lock.
void Simulation::EmptyDisk(Machine& machine) {
  machine.directory.id = random_.Next() | 1;
  machine.directory.session = machine.directory.previous = {};
  machine.directory.highest = {};
  machine.directory.written = false;
}

// A machine keeps its version, unless the group is upgraded and perhaps taken back: then a process
// that starts later has the other version.
bool Simulation::StartsNextVersion(const Machine& machine) const {
  if (!plan_.upgrade_at) return machine.next_version;
  const Duration now = world_.now().time_since_epoch();
  return now >= *plan_.upgrade_at && (!plan_.downgrade_at || now < *plan_.downgrade_at);
}

// Restarts one machine after another.
void Simulation::RollFrom(Duration begin) {
  for (Machine& machine : machines_) {
    Later(begin, [this, &machine] {
      Disturb(seconds(2));
      Process* process = ProcessOf(machine);
      if (process == nullptr) return;
      if (random_.Chance(500)) {
        process->Kill();
        Start(machine);
      } else {
        process->Stop();
        Later(Length(kStopsWithin), [this, &machine] { Start(machine); });
      }
    });
    begin += plan_.roll_every;
  }
}

void Simulation::Launch(Machine& machine, Dice& dice, StateDirectory* directory) {
  const bool next_version = StartsNextVersion(machine);
  core::CoreOptions options = plan_.core;
  options.self.node = machine.node;
  options.self.weight = machine.settings.weight;
  options.self.labels = machine.settings.labels;
  const auto number = static_cast<int>(&machine - machines_.data()) + 1;
  if (!plan_.placement.empty()) options.self.zone = ZoneOf(number);
  options.self.directory = directory != nullptr ? directory->id : 0;
  if (next_version) {
    options.self.software_version = "sim-next";
    options.self.unknown_fields = NextVersionsField();
  }
  // Whatever else happened, a machine's third process draws the same numbers.
  const auto index = static_cast<std::uint64_t>(&machine - machines_.data());
  const auto launch = static_cast<std::uint64_t>(++machine.launches);
  const Random random(Mixed(plan_.seed, (index + 1) << 32 | launch));
  machine.process = static_cast<int>(processes_.size());
  processes_.push_back(std::make_unique<Process>(ProcessParts{.world = world_,
                                                              .etcd = etcd_,
                                                              .clock = *machine.clock,
                                                              .network = network_,
                                                              .callbacks = callbacks_,
                                                              .armed = failures_,
                                                              .directory = directory,
                                                              .observer = *checkers_,
                                                              .dice = dice,
                                                              .random = random,
                                                              .next_version = next_version},
                                                 std::move(options), machine.process));
  Process& process = *processes_.back();
  if (!calm_) process.app_pause_most = plan_.app_pause_most;
  if (world_.verbose()) {
    world_.Say(machine.node + " starts as process " + std::to_string(machine.process) +
               (process.proven() ? ", with a proof of death" : ""));
  }
  if (plan_.storms > 0) PlanToCloseDescriptors(process);
  process.Start();
}

Phases Simulation::EverybodyBusy() const {
  Phases busy;
  for (const auto& process : processes_) {
    if (process->alive()) busy |= process->Busy();
  }
  return busy;
}

Phases Simulation::HolderBusy(SessionId session) const {
  Phases busy;
  for (const auto& process : processes_) {
    if (process->alive() && process->session() == session) busy |= process->Busy();
  }
  return busy;
}

Phases Simulation::NodeBusy(const NodeId& node) const {
  Phases busy;
  for (const auto& process : processes_) {
    if (process->alive() && process->node() == node) busy |= process->Busy();
  }
  return busy;
}

Phases Simulation::LeadersBusy(ShardId shard) const {
  Phases busy;
  for (const auto& process : processes_) {
    if (process->alive() && process->Get(shard).leads) busy |= process->Busy();
  }
  return busy.empty() ? EverybodyBusy() : busy;
}

// ---- time ----

void Simulation::Tick() {
  world_.After(kTick, [this] { Tick(); });
  const bool network_fails = network_.request_lost + network_.reply_lost + network_.request_late +
                                 network_.reset + network_.reply_late + network_.stream_ends +
                                 network_.stream_late >
                             0;
  const bool hung = std::any_of(processes_.begin(), processes_.end(), [](const auto& process) {
    return process->alive() && (process->dispatcher().hung() || process->paused());
  });
  const bool callbacks_fail = callbacks_.slow + callbacks_.throws + callbacks_.hangs > 0 ||
                              !callbacks_.broken_disks.empty();
  const bool forced = world_.injection().forces();
  if (network_fails || hung || callbacks_fail || forced || world_.now() < disturbed_until_) {
    checkers_->Disturbed();
  }
  if (!resting_ || world_.now() < troubled_until_) checkers_->Troubled();
  checkers_->Tick();
  if (world_.livelocked()) checkers_->Violation("I8", "events without end");
  if (checkers_->decided()) world_.Stop();
}

Duration Simulation::StepBound() const { return CheckerOptionsOf(plan_).step_bound; }
Duration Simulation::FailoverBound() const { return CheckerOptionsOf(plan_).failover_bound; }

void Simulation::Disturb(Duration length) {
  disturbed_until_ = std::max(disturbed_until_, world_.now() + length);
}

RunResult Simulation::Run() {
  if (plan_.storms > 0) return RunStorms();
  Tick();
  for (Machine& machine : machines_) {
    if (random_.Chance(250)) continue;
    Later(random_.Between(Duration{0}, Duration(seconds(4))), [this, &machine] { Start(machine); });
  }
  if (plan_.upgrade_at) RollFrom(*plan_.upgrade_at);
  if (plan_.downgrade_at) RollFrom(*plan_.downgrade_at);
  Disturb(seconds(5));
  StartHealthTroubles();
  StartFailover();
  StartPlacement();
  StartNodeOrders();
  StartLimits();
  StartStalls();
  TroublesFor(plan_.troubles);
  Calm();
  Rest();
  if (world_.livelocked()) checkers_->Violation("I8", "events without end");
  return Result();
}

void Simulation::TroublesFor(Duration length) {
  NextMishap();
  world_.RunUntil(world_.now() + length);
}

// Nothing goes wrong any more, and no operator asks for anything. Drains end, old leases run out,
// late messages have arrived.
void Simulation::Calm() {
  if (world_.stopped()) return;
  calm_ = true;
  if (world_.verbose()) world_.Say("calm");
  network_ = {};
  callbacks_ = {};
  world_.injection().Force({});
  failures_.clear();
  etcd_.SetNoSpace(false);
  etcd_.SetStalled(false);
  etcd_.SetOperations(128);
  etcd_.LoseDeletions(false);
  for (int member = 0; member < EtcdModel::kMembers; ++member) {
    etcd_.SetUp(member, true);
    etcd_.SetFrozen(member, false);
    etcd_.SetIsolated(member, false);
    if (plan_.etcd.personality == Personality::k3423) etcd_.SetStuck(member, false);
    etcd_.SetLag(member, {});
    etcd_.SetRefusesTokens(member, false);
  }
  for (const auto& process : processes_) {
    process->app_pause_most = {};
    for (int member = 0; member < EtcdModel::kMembers; ++member) process->transport().Heal(member);
    if (process->paused()) process->Resume();
    if (plan_.health) BeWell(*process);
  }
  for (Machine& machine : machines_) {
    for (const auto& guard : machine.guards) guard->Resume();
  }
  if (!plan_.failover.empty()) WantFailover({});
  if (!plan_.placement.empty()) {
    const bool judged = !plan_.placement_to_rest.empty();
    for (const NodeOrder& order : plan_.node_orders) CarryOut(order);
    WantPlacement(judged ? plan_.placement_to_rest : plan_.placement_in_calm);
  }
  Disturb(2 * Duration(plan_.core.ttl) + seconds(25));
  world_.RunUntil(world_.now() + 2 * Duration(plan_.core.ttl) + seconds(25));
  if (!world_.stopped()) StartEverybody();
}

// A hung callback stays hung: its process is restarted, and so are processes that stopped.
void Simulation::StartEverybody() {
  DeletePolicies();
  for (const auto& process : processes_) {
    const bool twin = std::none_of(machines_.begin(), machines_.end(), [&](const auto& machine) {
      return machine.process == process->number();
    });
    if (twin) process->Kill();
  }
  for (Machine& machine : machines_) {
    Process* process = ProcessOf(machine);
    const bool ends = process != nullptr &&
                      (process->leaving() || process->halted() || process->dispatcher().hung());
    if (ends) process->Kill();
    Start(machine);
  }
  Disturb(2 * Duration(plan_.core.ttl) + seconds(5));
}

void Simulation::Rest() {
  const bool lost = HitsOf(world_.faults(), Fault::kDeletionLost) > 0;
  if (lost) {
    Disturb(kRepairBound);
    world_.RunUntil(world_.now() + kRepairBound);
  }
  // A process that waited for the key of another one with the same name may have given up since.
  world_.RunUntil(world_.now() + 2 * Duration(plan_.core.ttl) + seconds(10));
  if (world_.stopped()) return;
  for (Machine& machine : machines_) Start(machine);
  RunUntilSteady();
  resting_ = true;
  troubled_until_ = world_.now();
  if (!RunUntilRest(kRestBound) || !JudgePlacement()) return;
  world_.RunUntil(world_.now() + seconds(3) + Duration(plan_.core.ttl));
  SettleStandbys();
  CheckQuiet();
  TroubleMove();
  CheckMoves();
  CheckSuccession();
  CheckUnhealthy();
  CheckHeirs();
  TroubleMembers();
}

// Members that came and went too often get nothing until they have stayed for a while, and nobody
// claims shards whose leaders died soon, for a while.
void Simulation::RunUntilSteady() {
  const auto waits = [](const auto& process) {
    if (!process->alive()) return false;
    const core::View& view = process->core().view();
    const TimePoint now = process->host().clock().Now();
    if (view.deaths().Waiting(now) > 0) return true;
    return std::any_of(view.members().begin(), view.members().end(), [&](const auto& member) {
      return now < view.steadiness().UnsteadyUntil(member.first);
    });
  };
  const TimePoint bound = world_.now() + 2 * core::kMaxUnsteadyDelay;
  while (!world_.stopped() && world_.now() < bound &&
         std::any_of(processes_.begin(), processes_.end(), waits)) {
    world_.RunUntil(world_.now() + seconds(1));
  }
}

bool Simulation::RunUntilRest(Duration most) {
  const TimePoint bound = world_.now() + most;
  std::string unrest = "not looked at";
  while (!world_.stopped() && world_.now() < bound && !unrest.empty()) {
    world_.RunUntil(world_.now() + seconds(1));
    unrest = checkers_->Unrest();
  }
  if (!unrest.empty() && !world_.stopped()) {
    checkers_->Violation("I9", "no rest: " + unrest);
  }
  return unrest.empty() && !world_.stopped();
}

// A node drains, and comes back: no more shards move than the new targets ask for.
void Simulation::CheckMoves() {
  Machine& machine = AnyMachine();
  Process* leaving = ProcessOf(machine);
  if (world_.stopped() || machines_.size() < 2 || leaving == nullptr) return;
  if (checkers_->SomeNodeFails()) return;  // it may take moves before the drain ends
  const std::uint64_t allowed = checkers_->MovesNeeded(machine.node);
  std::uint64_t before = checkers_->observed().handoffs;
  leaving->Drain();
  world_.RunUntil(world_.now() + plan_.core.drain_timeout + seconds(5));
  if (!RunUntilRest(kRestBound)) return;
  const std::uint64_t drained = checkers_->observed().handoffs - before;
  if (drained > allowed) {  // fewer if the drain's time was too short: it resigned the rest
    checkers_->Violation("I9", "a drain that needs " + std::to_string(allowed) + " moves took " +
                                   std::to_string(drained));
  }
  before = checkers_->observed().handoffs;
  Start(machine);
  for (int i = 0; i < 1000 && !checkers_->IsMember(machine.node); ++i) {
    world_.RunUntil(world_.now() + milliseconds(20));
  }
  const std::size_t needed = checkers_->MovesNeeded();
  world_.RunUntil(world_.now() + plan_.core.rebalance_delay + seconds(1));
  if (!RunUntilRest(kRestBound)) return;
  const std::uint64_t moved = checkers_->observed().handoffs - before;
  if (moved != needed) {
    checkers_->Violation("I9", "a balance that needs " + std::to_string(needed) + " moves took " +
                                   std::to_string(moved));
  }
}

// Nodes die one after another. Each time the nodes that are left share what the dead one led, and
// nothing else has to move; but among standbys, planned moves spread them again (standbys.cc).
void Simulation::CheckSuccession() {
  const std::size_t dying = std::min<std::size_t>(2, machines_.size() - 1);
  const std::size_t first = random_.Below(machines_.size());
  for (std::size_t i = 0; i < dying && !world_.stopped() && checkers_->FewestMoves() == 0; ++i) {
    Machine& machine = machines_[(first + i) % machines_.size()];
    if (plan_.placement_in_calm.empty()) {
      CheckDeathOf(machine);
    } else {
      CheckDeathAmongStandbys(machine);
    }
  }
}

void Simulation::CheckDeathOf(Machine& machine) {
  const std::uint64_t handoffs = checkers_->observed().handoffs;
  const std::size_t needed = checkers_->FewestMoves(machine.node);
  if (ProcessOf(machine) == nullptr || !DieAndBeSucceeded(machine)) return;
  const std::size_t after = checkers_->FewestMoves() +
                            static_cast<std::size_t>(checkers_->observed().handoffs - handoffs);
  if (world_.stopped() || after <= needed) return;
  checkers_->Violation("I9", "after the death of " + machine.node + " the others need " +
                                 std::to_string(after) + " moves where " + std::to_string(needed) +
                                 " would do");
}

// Returns whether all nodes saw the same vacancies at once. Otherwise waits ended one after
// another, and claims were in flight meanwhile: a shard may have gone astray.
bool Simulation::DieAndBeSucceeded(Machine& machine) {
  checkers_->TakeAgreedOnDeaths();
  ProcessOf(machine)->Kill();
  bool waited = false;
  const TimePoint bound =
      world_.now() + CheckerOptionsOf(plan_).failover_bound + checkers_->LongestWaitIfOneDies();
  while (!world_.stopped() && world_.now() < bound &&
         (checkers_->IsMember(machine.node) || !checkers_->AllLed())) {
    world_.RunUntil(world_.now() + milliseconds(100));
    waited = waited || checkers_->SomeShardWaits();
  }
  world_.RunUntil(world_.now() + seconds(2));
  return !waited && checkers_->TakeAgreedOnDeaths();
}

void Simulation::CheckQuiet() {
  if (world_.stopped()) return;
  checkers_->CheckRest();
  const std::int64_t revision = etcd_.store().revision();
  const std::uint64_t events = world_.events();
  world_.RunUntil(world_.now() + kQuietLength);
  if (etcd_.store().revision() != revision) {
    checkers_->Violation("I9",
                         "writes at rest: " + std::to_string(etcd_.store().revision() - revision));
  }
  const std::uint64_t allowed = kQuietEventsPerNodeAndSecond * machines_.size() *
                                static_cast<std::uint64_t>(kQuietLength / seconds(1));
  if (world_.events() - events > allowed) {
    checkers_->Violation("I8", std::to_string(world_.events() - events) + " events at rest");
  }
  const std::string unrest = checkers_->Unrest();
  if (!unrest.empty()) checkers_->Violation("I9", "rest did not last: " + unrest);
}

RunResult Simulation::Result() const {
  RunResult result;
  result.seed = plan_.seed;
  result.violations = checkers_->violations();
  result.faults = world_.faults();
  result.fault_table = world_.fault_table();
  result.injected = world_.injection().recorded();
  result.observed = checkers_->observed();
  result.trace_hash = world_.TraceHash();
  result.events = world_.events();
  result.virtual_time = world_.now().time_since_epoch();
  result.nodes = plan_.nodes;
  result.shards = plan_.core.shards;
  result.storms = plan_.storms > 0;
  if (world_.fault_total() < kFewestFaults) {
    result.invalid = "only " + std::to_string(world_.fault_total()) + " faults hit";
  } else if (plan_.storms > 0) {
    if (result.observed.leaderships <= plan_.core.shards) result.invalid = "nobody led again";
  } else if (result.observed.leader_changes < kFewestLeaderChanges) {
    result.invalid =
        "only " + std::to_string(result.observed.leader_changes) + " changes of leaders";
  }
  return result;
}

}  // namespace baton::sim
