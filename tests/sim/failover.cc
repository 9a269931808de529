// An operator changes the group's failover settings, in a part of the seeds, and releases shards by
// force while they are kept for nodes that are gone. Calm takes the settings back, so that a group
// at rest is one that fails over at once. If the settings were given, leaders crash all the time.
#include <algorithm>
#include <utility>

#include "etcd/guarded_txn.h"
#include "etcd/records.h"
#include "sim/simulation.h"

namespace baton::sim {
namespace {

constexpr Duration kAskAgain = milliseconds(250);
constexpr Duration kAsksFor = seconds(5);
constexpr Duration kAnswerWithin = seconds(1);
constexpr Duration kClaimWithin = seconds(20);
constexpr int kReleasePauseMost = 8'000;  // milliseconds
constexpr int kCrashPauseMost = 4'000;    // milliseconds
constexpr int kSoonMost = 500;            // milliseconds
constexpr int kLeaderCrashesPerMille = 850;
constexpr int kStartsSoonPerMille = 700;
constexpr int kDiskIsEmptyPerMille = 30;

}  // namespace

void Simulation::StartFailover() {
  for (const FailoverChange& change : plan_.failover) {
    world_.After(change.at, [this, settings = change.settings] {
      if (calm_) return;
      if (plan_.failover_given || failover_random_.Chance(400)) return WantFailover(settings);
      failover_at_claim_ = settings;
      world_.After(kClaimWithin, [this] { SetFailoverUnderClaim(); });
    });
  }
  if (!plan_.failover.empty()) ReleaseByForce();
  if (plan_.leaders_crash) CrashLeaders();
}

void Simulation::CrashLeaders() {
  world_.After(milliseconds(failover_random_.Between(0, kCrashPauseMost)), [this] {
    if (calm_ || world_.stopped()) return;
    CrashALeader();
    CrashLeaders();
  });
}

// It starts again soon, or when its lease is over. In between its disk may be replaced.
void Simulation::CrashALeader() {
  const bool any = !failover_random_.Chance(kLeaderCrashesPerMille);
  std::vector<Machine*> candidates;
  for (Machine& machine : machines_) {
    const Process* const process = ProcessOf(machine);
    if (process == nullptr) continue;
    const bool leads = checkers_->LeadsOf(*process) > 0;
    if (any || leads) candidates.push_back(&machine);
  }
  if (candidates.empty()) return;
  Machine& machine = *candidates[failover_random_.Below(candidates.size())];
  const Random kept = std::exchange(random_, failover_random_.Fork());
  Crash(*ProcessOf(machine));
  if (random_.Chance(kDiskIsEmptyPerMille) && !machine.directory.locked) EmptyDisk(machine);
  const int away = static_cast<int>(plan_.core.ttl / milliseconds(1)) * 2;
  const Duration length = Length(random_.Chance(kStartsSoonPerMille) ? kSoonMost : away);
  Disturb(length + seconds(2));
  Later(length, [this, &machine] { Start(machine); });
  random_ = kept;
}

// A process ends without notice.
void Simulation::Crash(Process& process) {
  Strike(Fault::kKill, process);
  checkers_->NoteCrash(process);
  process.Kill();
}

void Simulation::WantFailover(const FailoverSettings& settings) {
  if (world_.verbose()) world_.Say(std::string("failover: ") + ToString(settings.policy));
  failover_wanted_ = settings;
  BeginToSet();
}

void Simulation::BeginToSet() {
  ask_settings_until_ = world_.now() + kAsksFor;
  if (!std::exchange(setting_, true)) SetSettings();
}

// The claim was decided by the settings before.
void Simulation::SetFailoverUnderClaim() {
  if (!failover_at_claim_ || calm_) return;
  WantFailover(*std::exchange(failover_at_claim_, std::nullopt));
}

// Tries until the config has the settings: it may be missing or damaged, and etcd may have no
// quorum.
void Simulation::SetSettings() {
  const std::string key = keyspace_.ConfigKey();
  const pb::KeyValue* stored = config_spoilt_ ? nullptr : etcd_.store().Get(key);
  if (stored != nullptr && AskSettings(etcd::DecodeConfig(stored->value()))) {
    return world_.After(kAnswerWithin, [this] { SetSettings(); });
  }
  if (stored != nullptr) {
    ConfigFact config = etcd::DecodeConfig(stored->value());
    setting_ = config.failover != failover_wanted_ || config.placement != placement_wanted_;
    if (!setting_) return;
    config.schema = plan_.placement.empty() ? kFailoverSchema : kPlacementSchema;
    config.failover = failover_wanted_;
    config.placement = placement_wanted_;
    OperatorPut(key, etcd::EncodeConfig(config), 0);
  }
  world_.After(kAskAgain, [this] { SetSettings(); });
}

// Asks some node for them. False: they are there, or an operator writes them himself from now on.
bool Simulation::AskSettings(const ConfigFact& config) {
  const bool there = config.failover == failover_wanted_ && config.placement == placement_wanted_;
  if (!plan_.operator_asks || there || world_.now() >= ask_settings_until_) return false;
  runtime::GroupChangeRequest request{.failover = failover_wanted_.policy,
                                      .lock_delay = failover_wanted_.lock_delay,
                                      .placement = placement_wanted_,
                                      .actor = "operator",
                                      .within = kAnswerWithin};
  if (failover_wanted_.policy == FailoverPolicy::kAfter) request.delay = failover_wanted_.delay;
  AskSome(request);
  return true;
}

// A process drawn apart, so that the run's other numbers stay as they are.
template <typename Request>
void Simulation::AskSome(const Request& request) {
  std::vector<Process*> running;
  for (const auto& process : processes_) {
    if (process->running()) running.push_back(process.get());
  }
  if (running.empty()) return;
  Process& process = *running[failover_random_.Below(running.size())];
  Strike(Fault::kOperatorAsked, process);
  process.Ask(request);
}

// One shard whose leader's session is gone. If a node is asked, it refuses what must not be
// released.
void Simulation::ReleaseByForce() {
  const Duration pause = milliseconds(failover_random_.Between(0, kReleasePauseMost));
  world_.After(pause, [this] {
    if (calm_ || world_.stopped()) return;
    const ShardId shard{static_cast<std::uint32_t>(failover_random_.Below(plan_.core.shards))};
    const RecordFact& now = checkers_->RecordOf(shard);
    if (plan_.operator_asks) {
      checkers_->NoteReleaseAsked(shard);
      AskSome(runtime::ReleaseRequest{.shard = shard, .actor = "operator"});
      return ReleaseByForce();
    }
    const bool kept = now.present && now.readability == Readability::kReadable &&
                      !now.leader.empty() && failover_wanted_.policy == FailoverPolicy::kNever;
    if (kept) {
      RecordFact released;
      released.session = now.session;
      released.previous = now.leader;
      released.reason = Reason::kOperator;
      released.actor = "operator";
      released.tally = now.tally;
      released.unknown_fields = now.unknown_fields;
      pb::TxnRequest request;
      etcd::AddCompare({.key = keyspace_.ShardKey(shard),
                        .kind = etcd::Guard::Kind::kModIs,
                        .number = now.revision.value},
                       request);
      etcd::AddCompare({.key = keyspace_.MemberKey(now.leader),
                        .kind = etcd::Guard::Kind::kLeaseIsNot,
                        .number = now.session.value},
                       request);
      pb::PutRequest& put = *request.add_success()->mutable_request_put();
      put.set_key(keyspace_.ShardKey(shard));
      put.set_value(etcd::EncodeRecord(released, shard));
      etcd_.OperatorTxn(request);
    }
    ReleaseByForce();
  });
}

}  // namespace baton::sim
