// The mishaps of a simulation, and how they are mended.
#include <algorithm>
#include <utility>

#include "etcd/records.h"
#include "sim/simulation.h"

namespace baton::sim {
namespace {

// The dice of machines have smaller numbers.
constexpr std::uint32_t kFirstTwin = 1000;
constexpr Duration kConfigRepair = seconds(3);
static_assert(kConfigRepair < core::kConfigPatience);

}  // namespace

// The seed alone decides what happens and when, and each mishap has random numbers of its own:
// leaving one out leaves the others as they are.
void Simulation::NextMishap() {
  if (mishap_ < first_.size()) return NextSteered(first_[mishap_]);
  // Troubles seldom come alone.
  const bool burst = schedule_.Chance(plan_.bursts);
  const Duration gap = burst ? schedule_.Between(Duration{0}, Duration(milliseconds(30)))
                             : schedule_.Between(Duration(milliseconds(30)), plan_.gap_most);
  world_.After(gap, [this] {
    if (calm_) return;
    const Mishap mishap = plan_.mishaps[schedule_.Below(plan_.mishaps.size())];
    Inject(mishap, ++mishap_, schedule_.Fork());
    NextMishap();
  });
}

void Simulation::NextSteered(const SteeredMishap& next) {
  world_.After(next.gap, [this, next] {
    if (calm_) return;
    Inject(next.mishap, ++mishap_, Random(next.random));
    NextMishap();
  });
}

void Simulation::Inject(Mishap mishap, std::uint32_t number, Random random) {
  const FaultId id{.source = 0, .kind = static_cast<std::uint32_t>(mishap), .number = number};
  const bool possible = Possible(mishap, plan_.etcd.personality);
  if (!possible || !world_.injection().Allows(id)) return;
  world_.Trace(10, static_cast<std::int64_t>(mishap), 0);
  if (world_.verbose()) world_.Say(std::string("mishap: ") + ToString(mishap));
  const Random kept = std::exchange(random_, random);
  struck_.clear();
  Happen(mishap);
  random_ = kept;
  world_.injection().Record(id, world_.now(), std::string("mishap: ") + ToString(mishap) + struck_);
}

void Simulation::Later(Duration delay, std::function<void()> what) {
  world_.After(delay, [this, random = random_.Fork(), what = std::move(what)] {
    if (calm_) return;
    const Random kept = std::exchange(random_, random);
    what();
    random_ = kept;
  });
}

void Simulation::For(Duration length, std::function<void()> mend) {
  Disturb(length + seconds(2));
  Later(length, std::move(mend));
}

void Simulation::Strike(Fault fault, Process& process) {
  const Phases busy = process.Busy();
  struck_ += ", " + process.node() + " (" + ToString(busy) + ")";
  if (world_.verbose()) world_.Say(std::string(ToString(fault)) + " for " + process.node());
  world_.Hit(fault, busy);
}

Process* Simulation::AnyRunning() {
  if (victim_ != nullptr) return victim_->running() ? victim_ : nullptr;
  std::vector<Process*> running;
  for (const auto& process : processes_) {
    if (process->running()) running.push_back(process.get());
  }
  return running.empty() ? nullptr : running[random_.Below(running.size())];
}

Simulation::Machine& Simulation::AnyMachine() {
  const auto of_victim = std::find_if(machines_.begin(), machines_.end(), [&](const auto& machine) {
    return victim_ != nullptr && victim_->node() == machine.node;
  });
  return of_victim != machines_.end() ? *of_victim : machines_[random_.Below(machines_.size())];
}

ShardId Simulation::AnyShard() {
  if (victim_ != nullptr && victim_->alive() && !victim_->core().leaderships().held().empty()) {
    const auto& held = victim_->core().leaderships().held();
    const std::uint64_t place = random_.Below(held.size());
    return std::next(held.begin(), static_cast<std::ptrdiff_t>(place))->first;
  }
  return ShardId{static_cast<std::uint32_t>(random_.Below(plan_.core.shards))};
}

void Simulation::Happen(Mishap mishap) {
  switch (mishap) {
    case Mishap::kPause:
    case Mishap::kKill:
    case Mishap::kStart:
    case Mishap::kDrain:
    case Mishap::kStop:
    case Mishap::kCut:
    case Mishap::kTwin:
    case Mishap::kStutter:
    case Mishap::kFlap:
    case Mishap::kConnectionLost: return HappenToNode(mishap);
    case Mishap::kMemberDown:
    case Mishap::kMemberFrozen:
    case Mishap::kMemberIsolated:
    case Mishap::kMemberLags:
    case Mishap::kMoveLeader:
    case Mishap::kQuorumLost:
    case Mishap::kCompaction:
    case Mishap::kLowLimit: return HappenToEtcd(mishap);
    case Mishap::kStuckLeader:
    case Mishap::kWatchSilent:
    case Mishap::kEventsRepeated: return HappenToOldEtcd(mishap);
    case Mishap::kOperatorRevokes:
    case Mishap::kOperatorDeletes:
    case Mishap::kOperatorGarbage:
    case Mishap::kTransfer:
    case Mishap::kPolicy: return HappenByOperator(mishap);
    case Mishap::kDatabaseFull: return FillDatabase();
    case Mishap::kTokensRefused: return RefuseTokens();
    case Mishap::kAmbush: return LieInWait();
    case Mishap::kBlindTransfer: return BlindTransfer();
    case Mishap::kStrike: return ArmStrike();
    case Mishap::kSeldom: return ArrangeSeldom();
    case Mishap::kStuckRecovers: return RecoverStuck();
    case Mishap::kLateTakeover: return LateTakeover();
    case Mishap::kBadNetwork: return WorsenNetwork();
    case Mishap::kCommitsStall: return StallCommits();
  }
}

// ---- nodes ----

void Simulation::HappenToNode(Mishap mishap) {
  Disturb(seconds(1));
  if (mishap == Mishap::kStart) {
    Start(AnyMachine());
    return;
  }
  if (mishap == Mishap::kTwin) return StartTwin(AnyMachine());
  Process* process = AnyRunning();
  if (process == nullptr) return;
  switch (mishap) {
    case Mishap::kPause: return PauseSome();
    case Mishap::kCut: return CutSome();
    case Mishap::kStutter: return Stutter(process, random_.Between(2, 8));
    case Mishap::kFlap: return Flap(process, random_.Between(2, 8));
    case Mishap::kKill: return KillSome(process);
    case Mishap::kDrain: Strike(Fault::kDrain, *process); return process->Drain();
    case Mishap::kStop: Strike(Fault::kStop, *process); return process->Stop();
    default: return process->transport().ConnectionLost(AnyMember());
  }
}

// An operator starts a second process of the same name elsewhere, without the state directory.
void Simulation::StartTwin(Machine& machine) {
  if (ProcessOf(machine) == nullptr) return;
  world_.Hit(Fault::kTwin, NodeBusy(machine.node));
  twins_.push_back(std::make_unique<Dice>(world_, plan_.seed, kFirstTwin + mishap_));
  Launch(machine, *twins_.back(), nullptr);
}

// Often its supervisor starts it again at once.
void Simulation::KillSome(Process* process) {
  Crash(*process);
  const auto machine = std::find_if(machines_.begin(), machines_.end(), [&](const auto& candidate) {
    return candidate.process == process->number();
  });
  if (machine == machines_.end() || !random_.Chance(400)) return;
  Later(Length(400), [this, machine] { Start(*machine); });
}

void Simulation::Halt(Process& process) {
  const bool asleep = random_.Chance(400);
  Strike(asleep ? Fault::kSuspend : Fault::kPause, process);
  return asleep ? process.Suspend() : process.Pause();
}

void Simulation::PauseSome() {
  Process* process = AnyRunning();
  Halt(*process);
  const int most = random_.Chance(300) ? 30'000 : 4'000;
  For(Length(most), [process] {
    if (process->paused()) process->Resume();
  });
}

// Stops the process and lets it go on for a moment, again and again: what was under way is answered
// late, and then nothing more is answered for a while.
void Simulation::Stutter(Process* process, int times) {
  if (!process->running()) return;
  Halt(*process);
  const int most = static_cast<int>(plan_.core.ttl / milliseconds(1)) * 5 / 4;
  For(Length(most), [this, process, times] {
    if (!process->paused()) return;
    process->Resume();
    if (times > 1) For(Length(500), [this, process, times] { Stutter(process, times - 1); });
  });
}

// The same for the process's network.
void Simulation::Flap(Process* process, int times) {
  if (!process->alive()) return;
  const auto direction = Direction(random_.Between(0, 2));
  for (int member = 0; member < EtcdModel::kMembers; ++member) {
    process->transport().Cut(member, direction);
  }
  const int most = static_cast<int>(plan_.core.ttl / milliseconds(1)) * 5 / 4;
  For(Length(most), [this, process, times] {
    for (int member = 0; member < EtcdModel::kMembers; ++member) process->transport().Heal(member);
    if (times > 1) For(Length(500), [this, process, times] { Flap(process, times - 1); });
  });
}

void Simulation::CutSome() {
  Process* process = AnyRunning();
  const bool all = random_.Chance(300);
  const auto direction = Direction(random_.Between(0, 2));
  const int one = AnyMember();
  for (int member = 0; member < EtcdModel::kMembers; ++member) {
    if (all || member == one) process->transport().Cut(member, direction);
  }
  For(Length(random_.Chance(200) ? 25'000 : 5'000), [process, all, one] {
    for (int member = 0; member < EtcdModel::kMembers; ++member) {
      if (all || member == one) process->transport().Heal(member);
    }
  });
}

// ---- etcd ----

void Simulation::HappenToEtcd(Mishap mishap) {
  const int member = random_.Chance(400) && etcd_.leader() >= 0 ? etcd_.leader() : AnyMember();
  const Duration length = Length(random_.Chance(200) ? 20'000 : 5'000);
  struck_ = ", member " + std::to_string(member);
  Disturb(seconds(5));
  switch (mishap) {
    case Mishap::kMemberDown:
      if (!etcd_.Up(member)) return;
      etcd_.SetUp(member, false);
      for (const auto& process : processes_) process->transport().ConnectionLost(member);
      return For(length, [this, member] { etcd_.SetUp(member, true); });
    case Mishap::kMemberFrozen:
      etcd_.SetFrozen(member, true);
      world_.After(seconds(13), [this, member] {
        for (const auto& process : processes_) process->transport().CheckPings(member);
      });
      return For(length, [this, member] { etcd_.SetFrozen(member, false); });
    case Mishap::kMemberIsolated:
      etcd_.SetIsolated(member, true);
      return For(length, [this, member] { etcd_.SetIsolated(member, false); });
    case Mishap::kMemberLags:
      etcd_.SetLag(member, Length(3'000));
      return For(length, [this, member] { etcd_.SetLag(member, {}); });
    case Mishap::kMoveLeader: return etcd_.MoveLeader();
    case Mishap::kQuorumLost: return LoseQuorum();
    case Mishap::kCompaction: return CompactSome();
    default: return etcd_.SetOperations(random_.Between(6, 128));
  }
}

void Simulation::LoseQuorum() {
  const int left = AnyMember();
  for (int member = 0; member < EtcdModel::kMembers; ++member) {
    if (member != left) etcd_.SetIsolated(member, true);
  }
  For(Length(random_.Chance(300) ? 20'000 : 4'000), [this] {
    for (int member = 0; member < EtcdModel::kMembers; ++member) etcd_.SetIsolated(member, false);
  });
}

// An operator frees space and disarms the alarm a while later; sometimes too early, and it comes
// back.
void Simulation::FillDatabase() {
  Disturb(seconds(5));
  victim_ != nullptr ? etcd_.FillUnder(victim_->Busy()) : etcd_.Fill();
  const Duration length = Length(random_.Chance(200) ? 20'000 : 5'000);
  if (random_.Chance(300)) For(length / 2, [this] { etcd_.Disarm(); });
  For(length, [this] {
    etcd_.Free();
    For(Length(2'000), [this] { etcd_.Disarm(); });
  });
}

// Tokens live for a while, and a member that restarts knows none.
void Simulation::RefuseTokens() {
  const bool all = random_.Chance(500);
  const int one = AnyMember();
  for (int member = 0; member < EtcdModel::kMembers; ++member) {
    if (all || member == one) etcd_.SetRefusesTokens(member, true);
  }
  For(Length(random_.Chance(200) ? 15'000 : 3'000), [this] {
    for (int member = 0; member < EtcdModel::kMembers; ++member) {
      etcd_.SetRefusesTokens(member, false);
    }
  });
}

// A watch that was at the head when its connection broke begins at exactly the revision of a
// record's deletion, which is compacted meanwhile.
void Simulation::LoseADeletion() {
  Process* process = AnyRunning();
  if (process == nullptr) return;
  for (int member = 0; member < EtcdModel::kMembers; ++member) {
    process->transport().ConnectionLost(member);
  }
  Disturb(seconds(5));
  OperatorDelete(keyspace_.ShardKey(AnyShard()));
  etcd_.Compact(etcd_.store().revision());
}

// Often right at the head: a watch that starts there has just been compacted away.
void Simulation::CompactSome() {
  if (plan_.lose_deletions && random_.Chance(500)) return LoseADeletion();
  const std::int64_t revision = etcd_.store().revision();
  const std::int64_t back = random_.Chance(600) ? 0 : random_.Between(1, 50);
  if (revision - back > 0) etcd_.Compact(revision - back);
  if (!random_.Chance(500)) return;
  Process* process = AnyRunning();
  if (process != nullptr) process->transport().ConnectionLost(AnyMember());
}

void Simulation::HappenToOldEtcd(Mishap mishap) {
  if (mishap == Mishap::kWatchSilent) {
    Disturb(seconds(20));
    return etcd_.Silence(AnyMember());
  }
  if (mishap == Mishap::kEventsRepeated) {
    // Each compiler chooses the order of two draws that are arguments of one call.
    const int revisions = random_.Between(1, 30);
    return etcd_.Repeat(AnyMember(), revisions);
  }
  const int leader = etcd_.leader();
  if (leader < 0) return;
  etcd_.SetStuck(leader, true);
  For(Length(random_.Chance(500) ? 25'000 : 6'000),
      [this, leader] { etcd_.SetStuck(leader, false); });
}

// ---- operators ----

void Simulation::HappenByOperator(Mishap mishap) {
  switch (mishap) {
    case Mishap::kOperatorRevokes: {
      const auto leases = etcd_.Leases();
      if (leases.empty()) return;
      Disturb(seconds(5));
      const std::int64_t any = leases[random_.Below(leases.size())];
      const std::int64_t own = victim_ != nullptr ? victim_->session().value : 0;
      const std::int64_t lease = own != 0 && etcd_.LeaseLives(own) ? own : any;
      const Phases busy = HolderBusy(SessionId{lease});
      if (etcd_.OperatorRevoke(lease)) world_.Hit(Fault::kOperatorRevoked, busy);
      return;
    }
    case Mishap::kOperatorDeletes: return DeleteSome();
    case Mishap::kOperatorGarbage: return DamageSome();
    case Mishap::kTransfer: return AskTransfer();
    default: return AskPolicy();
  }
}

void Simulation::OperatorPut(const std::string& key, const std::string& value, std::int64_t lease) {
  pb::TxnRequest request;
  pb::PutRequest& put = *request.add_success()->mutable_request_put();
  put.set_key(key);
  put.set_value(value);
  put.set_lease(lease);
  etcd_.OperatorTxn(request);
}

bool Simulation::OperatorDelete(const std::string& key) {
  pb::TxnRequest request;
  request.add_success()->mutable_request_delete_range()->set_key(key);
  return etcd_.OperatorTxn(request);
}

void Simulation::DeleteSome() {
  Disturb(seconds(5));
  if (random_.Chance(400)) {
    return DeleteMember(AnyMachine().node);
  }
  const ShardId shard = AnyShard();
  const Phases busy = LeadersBusy(shard);
  if (OperatorDelete(keyspace_.ShardKey(shard))) world_.Hit(Fault::kOperatorDeletedRecord, busy);
}

// A damaged record without a known leader is replaced when every session of its time must be over.
void Simulation::DeleteMember(const NodeId& node) {
  const Phases busy = NodeBusy(node);
  if (OperatorDelete(keyspace_.MemberKey(node))) world_.Hit(Fault::kOperatorDeletedMember, busy);
}

void Simulation::DamageSome() {
  Disturb(std::max<Duration>(plan_.core.ttl, seconds(10)) + plan_.core.settle + seconds(5));
  if (random_.Chance(250)) return SpoilConfig();
  const bool member = random_.Chance(300);
  const NodeId& node = AnyMachine().node;
  const ShardId shard = AnyShard();
  Damage(member ? keyspace_.MemberKey(node) : keyspace_.ShardKey(shard),
         member ? NodeBusy(node) : LeadersBusy(shard));
}

// The members put it back. If there is none, the operator does, before nodes that know the group
// give up.
void Simulation::SpoilConfig() {
  const std::string key = keyspace_.ConfigKey();
  const pb::KeyValue* stored = etcd_.store().Get(key);
  if (stored == nullptr || config_spoilt_) return;
  config_spoilt_ = true;
  checkers_->ConfigSpoilt(true);
  const std::string good = stored->value();
  ConfigFact other = etcd::DecodeConfig(good);
  ++other.shards;
  switch (random_.Below(3)) {
    case 0: OperatorPut(key, "\xff\xff garbage", 0); break;
    case 1: OperatorPut(key, etcd::EncodeConfig(other), 0); break;
    default: OperatorDelete(key);
  }
  RepairConfig(good);
}

// Tries until etcd takes it, also once all is calm.
void Simulation::RepairConfig(const std::string& good) {
  world_.After(kConfigRepair, [this, good] {
    const pb::KeyValue* now = etcd_.store().Get(keyspace_.ConfigKey());
    config_spoilt_ = now == nullptr || now->value() != good;
    checkers_->ConfigSpoilt(config_spoilt_);
    if (!config_spoilt_) return;
    OperatorPut(keyspace_.ConfigKey(), good, 0);
    RepairConfig(good);
  });
}

void Simulation::Damage(const std::string& key, Phases busy) {
  const pb::KeyValue* stored = etcd_.store().Get(key);
  if (stored == nullptr) return;
  world_.Hit(Fault::kOperatorGarbage, busy);
  OperatorPut(key, "\xff\xff garbage", stored->lease());
}

void Simulation::AskTransfers() {
  for (int i = 0; i < 4; ++i) AskTransfer();
}

void Simulation::AskTransfer() {
  Process* process = AnyRunning();
  if (process == nullptr) return;
  Strike(Fault::kOperatorAsked, *process);
  process->Ask(runtime::TransferRequest{
      .shard = AnyShard(), .to = AnyMachine().node, .if_term = {}, .actor = "operator"});
}

void Simulation::AskPolicy() {
  using Verb = runtime::PolicyRequest::Verb;
  Process* process = AnyRunning();
  if (process == nullptr) return;
  Strike(Fault::kOperatorAsked, *process);
  process->Ask(
      runtime::PolicyRequest{.verb = Verb(random_.Between(0, 5)),
                             .node = AnyMachine().node,
                             .actor = "operator's change " + std::to_string(++policies_asked_)});
}

void Simulation::DeletePolicies() {
  pb::TxnRequest request;
  pb::DeleteRangeRequest& range = *request.add_success()->mutable_request_delete_range();
  const std::string begin = keyspace_.begin() + "policy/";
  range.set_key(begin);
  range.set_range_end(begin.substr(0, begin.size() - 1) + static_cast<char>(begin.back() + 1));
  etcd_.OperatorTxn(request);
}

}  // namespace baton::sim
