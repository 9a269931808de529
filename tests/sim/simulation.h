// Simulation: one run: a group of nodes and an etcd, troubles as the seed draws
// them, calm, and the checks of rest.
//
//   auto result = Simulation(seed).Run();
//
// For one thread; simulations are independent of each other.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/checkers.h"
#include "sim/plan.h"

namespace baton::sim {

struct RunResult {
  std::uint64_t seed = 0;
  std::vector<std::string> violations;
  std::string invalid;  ///< why the run says too little to count; empty: it counts
  FaultCounts faults{};
  Observed observed;
  std::uint64_t trace_hash = 0;
  std::uint64_t events = 0;
  Duration virtual_time{};
  int nodes = 0;
  std::uint32_t shards = 0;
};

class Simulation {
 public:
  explicit Simulation(std::uint64_t seed, bool verbose = false);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  /// REQUIRES: called once.
  RunResult Run();

 private:
  /// A machine: its node's name, clock and state directory; one process at a
  /// time.
  struct Machine {
    NodeId node;
    std::unique_ptr<HostClock> clock;
    StateDirectory directory;
    std::uint32_t weight = 1;
    int process = -1;  ///< the last one's number
  };

  // Processes (simulation.cc).
  Process* ProcessOf(Machine& machine);
  bool Start(Machine& machine);
  void Launch(Machine& machine, StateDirectory* directory);
  void Tick();
  void TroublesFor(Duration length);
  void Calm();
  void StartEverybody();
  void Rest();
  void CheckQuiet();
  void CheckMoves();
  void CheckSuccession();
  void CheckDeathOf(Machine& machine);
  bool RunUntilRest(Duration most);
  RunResult Result() const;

  // Mishaps (mishaps.cc).
  void NextMishap();
  void Happen(Mishap mishap);
  void HappenToNode(Mishap mishap);
  void HappenToEtcd(Mishap mishap);
  void HappenToOldEtcd(Mishap mishap);
  void HappenByOperator(Mishap mishap);
  void StartTwin(Machine& machine);
  void KillSome(Process* process);
  void PauseSome();
  void Stutter(Process* process, int times);
  void Flap(Process* process, int times);
  void CutSome();
  void CompactSome();
  void LoseQuorum();
  void DeleteSome();
  void DamageSome();
  void AskTransfer();
  void AskPolicy();
  void OperatorPut(const std::string& key, const std::string& value, std::int64_t lease);
  bool OperatorDelete(const std::string& key);
  void Damage(const std::string& key);
  void DeletePolicies();

  // Strikes (strikes.cc).
  enum class Moment : std::uint8_t { kGiving, kReleasing, kWriting, kJoining };
  static constexpr std::uint64_t kMoments = 4;
  struct Strike {
    Moment when;
    TimePoint until;
  };
  void ArmStrike();
  void ConsiderStrike(Process& process);
  void StrikeHandoff(Process& giver, ShardId shard);
  void StrikeProcess(Process& process);
  void LeaveAlone(Process& giver, Machine& target);
  void BlackOut(Process& process);
  void DeleteAndRestore(Process& process);
  void ReadAnew(Process& process);

  Machine& AnyMachine() { return machines_[random_.Below(machines_.size())]; }
  Process* AnyRunning();
  int AnyMember() { return random_.Between(0, EtcdModel::kMembers - 1); }
  ShardId AnyShard() {
    return ShardId{static_cast<std::uint32_t>(random_.Below(plan_.core.shards))};
  }
  /// Something goes wrong for so long, and then is mended.
  void For(Duration length, std::function<void()> mend);
  void Disturb(Duration length);
  Duration Length(int most_millis) { return milliseconds(random_.Between(50, most_millis)); }

  Plan plan_;
  World world_;
  Random random_;
  NetworkFaults network_;
  CallbackFaults callbacks_;
  EtcdModel etcd_;
  const etcd::Keyspace keyspace_;
  std::vector<Machine> machines_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::unique_ptr<Checkers> checkers_;
  std::optional<Strike> strike_;
  bool calm_ = false;
  TimePoint disturbed_until_{};
};

}  // namespace baton::sim
