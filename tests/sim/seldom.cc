// Coincidences that hardly ever happen by chance, nor by an ambush or a strike drawn at random:
// each needs two or three things that fit together, and this file arranges them.
#include <array>

#include "sim/simulation.h"

namespace baton::sim {
namespace {

constexpr int kBadPerMille = 300;
constexpr int kBadMost = 3000;         // milliseconds
constexpr int kFailureLength = 6000;   // milliseconds
constexpr int kBelievedBeyond = 1000;  // milliseconds
constexpr int kBrokenMost = 30'000;    // milliseconds
constexpr int kAllBreakPerMille = 200;
constexpr std::size_t kMaxFailures = 4;
constexpr Duration kStuckMost = seconds(25);

constexpr std::array kApplicationFaults = {Fault::kCallbackSlow, Fault::kCallbackThrew,
                                           Fault::kCallbackHung, Fault::kPauseBeforeWrite};
// A process that writes leads. A process whose first session is not granted yet gets no requests.
constexpr std::array kApplicationPhases = {Phase::kReading,    Phase::kWatching, Phase::kGranting,
                                           Phase::kGranting,   Phase::kGranting, Phase::kRevoking,
                                           Phase::kRevoking,   Phase::kPrepared, Phase::kAbandoning,
                                           Phase::kAbandoning, Phase::kPolicy};
constexpr std::array kRevokedPhases = {Phase::kReading,    Phase::kWatching,   Phase::kJoining,
                                       Phase::kClaiming,   Phase::kPrepared,   Phase::kAbandoning,
                                       Phase::kAbandoning, Phase::kAbandoning, Phase::kAbandoning,
                                       Phase::kAbandoning, Phase::kPolicy,     Phase::kTakingOver,
                                       Phase::kTakingOver, Phase::kTakingOver};

struct Pair {
  Phase moment;
  Mishap strike;
};
constexpr std::array kPairs = {
    Pair{Phase::kTakingOver, Mishap::kDatabaseFull}, Pair{Phase::kTakingOver, Mishap::kBadNetwork},
    Pair{Phase::kAbandoning, Mishap::kDatabaseFull}, Pair{Phase::kAbandoning, Mishap::kBadNetwork},
    Pair{Phase::kAbandoning, Mishap::kBadNetwork},   Pair{Phase::kAbandoning, Mishap::kStop},
    Pair{Phase::kPolicy, Mishap::kDatabaseFull}};

}  // namespace

void Simulation::ArrangeSeldom() {
  const bool old = plan_.etcd.personality == Personality::k3423;
  switch (random_.Between(0, old ? 4 : 2)) {
    case 0: return ArmFailure();
    case 2: return BreakDisk();
    case 1: {
      const Pair pair = kPairs[random_.Below(kPairs.size())];
      struck_ =
          std::string(", ") + ToString(pair.strike) + " once somebody is " + ToString(pair.moment);
      AddAmbush(pair.moment, pair.strike);
      return Provoke(pair.moment);
    }
    default: return ArrangeLateRevoke();
  }
}

void Simulation::Provoke(Phase phase) {
  Process* process = AnyRunning();
  if (process == nullptr) return;
  switch (phase) {
    case Phase::kJoining:  // a drain is written into the member key
      Strike(Fault::kDrain, *process);
      return process->Drain();
    case Phase::kPolicy: return AskPolicy();
    case Phase::kGranting: return LoseSessions();
    case Phase::kRevoking: return TakeOverInBadNetwork();
    case Phase::kAbandoning:
      AddAmbush(Phase::kPrepared, Mishap::kBlindTransfer);
      if (random_.Chance(500)) WorsenNetwork();
      [[fallthrough]];
    case Phase::kPrepared: AskTransfers(); return;
    case Phase::kReading: return ReadAnew(*process);
    case Phase::kWatching:
      for (int member = 0; member < EtcdModel::kMembers; ++member) {
        process->transport().ConnectionLost(member);
      }
      return;
    default: return;
  }
}

// A process stands still until its lease is over. When it goes on it is suspended, and learns at
// once that its session is lost: callbacks wait for each other while the next lease is granted.
void Simulation::LoseSessions() {
  Process* process = AnyRunning();
  if (process == nullptr) return;
  Strike(Fault::kPause, *process);
  process->Pause();
  For(Duration(plan_.core.ttl) + seconds(2) + Length(kBelievedBeyond), [process] {
    if (process->paused()) process->Resume();
  });
}

// A process is killed and started again, and may lead while its predecessor's lease is still being
// revoked.
void Simulation::TakeOverInBadNetwork() {
  network_.reply_late = kBadPerMille;
  For(Length(kBadMost), [this] { network_.reply_late = plan_.network.reply_late; });
  Machine& machine = AnyMachine();
  if (Process* process = ProcessOf(machine)) {
    Strike(Fault::kKill, *process);
    process->Kill();
  }
  Start(machine);
}

// The application fails while its process is in the middle of something.
void Simulation::ArmFailure() {
  if (failures_.size() >= kMaxFailures) failures_.erase(failures_.begin());
  const ArmedFailure& failure = failures_.emplace_back(ArmedFailure{
      .fault = kApplicationFaults[random_.Below(kApplicationFaults.size())],
      .phase = kApplicationPhases[random_.Below(kApplicationPhases.size())],
      .length = Length(kFailureLength),
  });
  struck_ = std::string(", ") + ToString(failure.fault) + " once its process is " +
            ToString(failure.phase);
  Provoke(failure.phase);
}

// No activation succeeds on a node, or on all of them, for a while. The node takes shards up then:
// its own after a restart, or others'.
void Simulation::BreakDisk() {
  Machine& machine = AnyMachine();
  Process* process = ProcessOf(machine);
  if (process == nullptr) return;
  std::set<NodeId> broken{process->node()};
  if (random_.Chance(kAllBreakPerMille)) {
    for (const auto& each : processes_) broken.insert(each->node());
  }
  struck_ = ", the disks of " + std::to_string(broken.size()) + " nodes break";
  callbacks_.broken_disks.insert(broken.begin(), broken.end());
  For(Length(kBrokenMost), [this, broken] {
    for (const NodeId& node : broken) callbacks_.broken_disks.erase(node);
  });
  if (random_.Chance(500)) {
    Strike(Fault::kKill, *process);
    process->Kill();
    Start(machine);
    return;
  }
  AskTransfers();
}

// A leader of etcd gets stuck, another one is elected, and leases are renewed there. Once the stuck
// one takes them for expired, it waits until a process is in the middle of something, and recovers:
// its revokes end leases that live.
void Simulation::ArrangeLateRevoke() {
  const int leader = etcd_.leader();
  if (leader < 0) return;
  const Phase moment = kRevokedPhases[random_.Below(kRevokedPhases.size())];
  struck_ = std::string(", somebody ") + ToString(moment);
  // Without this, that leader would also know a session that has just begun.
  if (moment == Phase::kTakingOver) return AddAmbush(moment, Mishap::kLateTakeover);
  etcd_.SetStuck(leader, true);
  For(kStuckMost, [this, leader] { etcd_.SetStuck(leader, false); });
  Later(Duration(plan_.core.ttl) + Length(kBelievedBeyond), [this, moment] {
    AddAmbush(moment, Mishap::kStuckRecovers);
    Provoke(moment);
  });
}

// The victim's lease is granted, and its takeover is held up until the leader of that time, stuck
// since, takes the lease for expired. The lease is revoked while the victim revokes its
// predecessor's.
void Simulation::LateTakeover() {
  const int leader = etcd_.leader();
  if (victim_ == nullptr) return AddAmbush(Phase::kTakingOver, Mishap::kLateTakeover);
  if (leader < 0) return;
  Process* victim = victim_;
  etcd_.SetStuck(leader, true);
  For(kStuckMost, [this, leader] { etcd_.SetStuck(leader, false); });
  for (int member = 0; member < EtcdModel::kMembers; ++member) {
    victim->transport().Cut(member, Direction::kBoth);
  }
  For(Duration(plan_.core.ttl) + Length(kBelievedBeyond), [this, victim] {
    AddAmbush(Phase::kRevoking, Mishap::kStuckRecovers);
    for (int member = 0; member < EtcdModel::kMembers; ++member) victim->transport().Heal(member);
  });
}

void Simulation::RecoverStuck() {
  if (plan_.etcd.personality != Personality::k3423) return;
  Disturb(seconds(20));
  for (int member = 0; member < EtcdModel::kMembers; ++member) etcd_.SetStuck(member, false);
}

// For a while, one kind of fault strikes many messages.
void Simulation::WorsenNetwork() {
  int NetworkFaults::*const faults[] = {&NetworkFaults::request_lost, &NetworkFaults::reply_lost,
                                        &NetworkFaults::request_late, &NetworkFaults::reply_late,
                                        &NetworkFaults::request_twice};
  int NetworkFaults::*const worse = faults[random_.Below(std::size(faults))];
  network_.*worse = kBadPerMille;
  For(Length(kBadMost), [this, worse] { network_.*worse = plan_.network.*worse; });
}

}  // namespace baton::sim
