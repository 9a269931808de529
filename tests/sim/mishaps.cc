// What goes wrong in a simulation, and how it is mended.
#include <algorithm>
#include <utility>

#include "sim/simulation.h"

namespace baton::sim {

void Simulation::NextMishap() {
  // Troubles seldom come alone.
  const bool burst = random_.Chance(plan_.bursts);
  const Duration gap = burst ? random_.Between(Duration{0}, Duration(milliseconds(30)))
                             : random_.Between(Duration(milliseconds(30)), plan_.gap_most);
  world_.After(gap, [this] {
    if (calm_) return;
    const Mishap mishap = plan_.mishaps[random_.Below(plan_.mishaps.size())];
    world_.Trace(10, static_cast<std::int64_t>(mishap), 0);
    Happen(mishap);
    NextMishap();
  });
}

void Simulation::For(Duration length, std::function<void()> mend) {
  Disturb(length + seconds(2));
  world_.After(length, [this, mend = std::move(mend)] {
    if (!calm_) mend();
  });
}

Process* Simulation::AnyRunning() {
  std::vector<Process*> running;
  for (const auto& process : processes_) {
    if (process->running()) running.push_back(process.get());
  }
  return running.empty() ? nullptr : running[random_.Below(running.size())];
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
    case Mishap::kNoSpace:
    case Mishap::kLowLimit: return HappenToEtcd(mishap);
    case Mishap::kStuckLeader:
    case Mishap::kWatchSilent:
    case Mishap::kEventsRepeated: return HappenToOldEtcd(mishap);
    case Mishap::kOperatorRevokes:
    case Mishap::kOperatorDeletes:
    case Mishap::kOperatorGarbage:
    case Mishap::kTransfer:
    case Mishap::kPolicy: return HappenByOperator(mishap);
    case Mishap::kStrike: return ArmStrike();
  }
}

// ---- nodes
// -------------------------------------------------------------------------------------

void Simulation::HappenToNode(Mishap mishap) {
  Disturb(seconds(1));
  if (mishap == Mishap::kStart) {
    Start(AnyMachine());
    return;
  }
  if (mishap == Mishap::kTwin) return StartTwin(AnyMachine());
  Process* process = AnyRunning();
  if (process == nullptr) return;
  if (world_.verbose()) world_.Say("mishap for " + process->node());
  switch (mishap) {
    case Mishap::kPause: return PauseSome();
    case Mishap::kCut: return CutSome();
    case Mishap::kStutter: return Stutter(process, random_.Between(2, 8));
    case Mishap::kFlap: return Flap(process, random_.Between(2, 8));
    case Mishap::kKill: return KillSome(process);
    case Mishap::kDrain: world_.Hit(Fault::kDrain); return process->Drain();
    case Mishap::kStop: world_.Hit(Fault::kStop); return process->Stop();
    default:
      world_.Hit(Fault::kConnectionReset);
      return process->transport().ConnectionLost(AnyMember());
  }
}

// Somebody starts a second process of the same name elsewhere, without the
// state directory.
void Simulation::StartTwin(Machine& machine) {
  if (ProcessOf(machine) == nullptr) return;
  world_.Hit(Fault::kTwin);
  Launch(machine, nullptr);
}

// Often its supervisor starts it again at once.
void Simulation::KillSome(Process* process) {
  world_.Hit(Fault::kKill);
  process->Kill();
  const auto machine = std::find_if(machines_.begin(), machines_.end(), [&](const auto& candidate) {
    return candidate.process == process->number();
  });
  if (machine == machines_.end() || !random_.Chance(400)) return;
  world_.After(Length(400), [this, machine] {
    if (!calm_) Start(*machine);
  });
}

void Simulation::PauseSome() {
  Process* process = AnyRunning();
  world_.Hit(Fault::kPause);
  process->Pause();
  const int most = random_.Chance(300) ? 30'000 : 4'000;
  For(Length(most), [process] {
    if (process->paused()) process->Resume();
  });
}

// Stops, and goes on for a moment, again and again: what was under way is answered late, and then
// nothing more for a while.
void Simulation::Stutter(Process* process, int times) {
  if (!process->running()) return;
  world_.Hit(Fault::kPause);
  process->Pause();
  const int most = static_cast<int>(plan_.core.ttl / milliseconds(1)) * 5 / 4;
  For(Length(most), [this, process, times] {
    if (!process->paused()) return;
    process->Resume();
    if (times > 1) For(Length(500), [this, process, times] { Stutter(process, times - 1); });
  });
}

// The same for its network.
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

// ---- etcd
// --------------------------------------------------------------------------------------

void Simulation::HappenToEtcd(Mishap mishap) {
  const int member = random_.Chance(400) && etcd_.leader() >= 0 ? etcd_.leader() : AnyMember();
  const Duration length = Length(random_.Chance(200) ? 20'000 : 5'000);
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
    case Mishap::kNoSpace:
      etcd_.SetNoSpace(true);
      return For(length, [this] { etcd_.SetNoSpace(false); });
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

// Often right at the head: whoever watches from there on has just been
// compacted away.
void Simulation::CompactSome() {
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
  if (mishap == Mishap::kEventsRepeated) return etcd_.Repeat(AnyMember(), random_.Between(1, 30));
  const int leader = etcd_.leader();
  if (leader < 0) return;
  etcd_.SetStuck(leader, true);
  For(Length(random_.Chance(500) ? 25'000 : 6'000),
      [this, leader] { etcd_.SetStuck(leader, false); });
}

// ---- operators
// ---------------------------------------------------------------------------------

void Simulation::HappenByOperator(Mishap mishap) {
  switch (mishap) {
    case Mishap::kOperatorRevokes: {
      const auto leases = etcd_.Leases();
      if (leases.empty()) return;
      Disturb(seconds(5));
      if (etcd_.OperatorRevoke(leases[random_.Below(leases.size())])) {
        world_.Hit(Fault::kOperatorRevoked);
      }
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
    if (OperatorDelete(keyspace_.MemberKey(AnyMachine().node))) {
      world_.Hit(Fault::kOperatorDeletedMember);
    }
  } else if (OperatorDelete(keyspace_.ShardKey(AnyShard()))) {
    world_.Hit(Fault::kOperatorDeletedRecord);
  }
}

// A damaged record without a known leader is replaced when every session of its
// time must be over.
void Simulation::DamageSome() {
  Disturb(std::max<Duration>(plan_.core.ttl, seconds(10)) + plan_.core.settle + seconds(5));
  const bool member = random_.Chance(300);
  Damage(member ? keyspace_.MemberKey(AnyMachine().node) : keyspace_.ShardKey(AnyShard()));
}

void Simulation::Damage(const std::string& key) {
  const pb::KeyValue* stored = etcd_.store().Get(key);
  if (stored == nullptr) return;
  world_.Hit(Fault::kOperatorGarbage);
  OperatorPut(key, "\xff\xff garbage", stored->lease());
}

void Simulation::AskTransfer() {
  Process* process = AnyRunning();
  if (process == nullptr) return;
  world_.Hit(Fault::kOperatorAsked);
  process->Ask(runtime::TransferRequest{
      .shard = AnyShard(), .to = AnyMachine().node, .if_term = {}, .actor = "operator"});
}

void Simulation::AskPolicy() {
  using Verb = runtime::PolicyRequest::Verb;
  Process* process = AnyRunning();
  if (process == nullptr) return;
  world_.Hit(Fault::kOperatorAsked);
  process->Ask(runtime::PolicyRequest{
      .verb = Verb(random_.Between(0, 5)), .node = AnyMachine().node, .actor = "operator"});
}

void Simulation::DeletePolicies() {
  pb::TxnRequest request;
  pb::DeleteRangeRequest& range = *request.add_success()->mutable_request_delete_range();
  const std::string begin = keyspace_.PolicyKey("");
  range.set_key(begin);
  range.set_range_end(begin.substr(0, begin.size() - 1) + static_cast<char>(begin.back() + 1));
  etcd_.OperatorTxn(request);
}

}  // namespace baton::sim
