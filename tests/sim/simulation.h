// Simulation: one run of a group of nodes and an etcd: the troubles that the seed draws, then calm,
// and the checks of rest.
//
//   auto result = Simulation(seed).Run();
//
// For one thread; simulations are independent of each other.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/checkers.h"
#include "sim/guard.h"
#include "sim/next_version.h"
#include "sim/plan.h"
#include "sim/steering.h"

namespace baton::sim {

struct RunOptions {
  std::uint64_t seed = 0;
  bool verbose = false;
  bool keep_records = false;                   ///< of the faults that were injected
  std::optional<std::vector<FaultId>> only{};  ///< no other fault happens
  std::vector<SteeredMishap> first{};          ///< these mishaps, before those that are drawn
  ForcedFaults forced{};                       ///< until calm comes
  /// Until calm comes, instead of what the seed draws. Leaders then crash again and again.
  std::optional<FailoverSettings> failover{};
  bool storms = false;  ///< of crashes on a small group, instead of mishaps
};

struct RunResult {
  std::uint64_t seed = 0;
  std::vector<std::string> violations;
  std::string invalid;  ///< why the run says too little to count; empty: it counts
  FaultCounts faults{};
  FaultTable fault_table;
  std::vector<InjectedFault> injected;  ///< if records are kept
  Observed observed;
  std::uint64_t trace_hash = 0;
  std::uint64_t events = 0;
  Duration virtual_time{};
  int nodes = 0;
  std::uint32_t shards = 0;
  bool storms = false;
};

class Simulation {
 public:
  explicit Simulation(const RunOptions& options);
  explicit Simulation(std::uint64_t seed, bool verbose = false)
      : Simulation(RunOptions{.seed = seed, .verbose = verbose}) {}
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  /// REQUIRES: it is called only once.
  RunResult Run();

 private:
  /// A machine: its node's name, clock and state directory; one process at a time.
  struct Machine {
    NodeId node;
    std::unique_ptr<HostClock> clock;
    std::unique_ptr<Dice> dice;
    StateDirectory directory;
    std::vector<std::unique_ptr<Guard>> guards = {};
    NodeSettings settings = {};  ///< of its processes that start
    int process = -1;            ///< the last one's number
    int launches = 0;
    int storms = 0;  ///< that have hit it
    bool next_version = false;
  };

  // Processes (simulation.cc).
  Process* ProcessOf(Machine& machine);
  bool Start(Machine& machine);
  void StartGuards();
  void AddGuard(Machine& machine, Random random);
  bool StartsNextVersion(const Machine& machine) const;
  void RollFrom(Duration begin);
  void StartWith(Machine& machine, StateDirectory* directory);
  void EmptyDisk(Machine& machine);
  void Launch(Machine& machine, Dice& dice, StateDirectory* directory);
  /// The phases of all live processes.
  Phases EverybodyBusy() const;
  Phases HolderBusy(SessionId session) const;
  Phases NodeBusy(const NodeId& node) const;
  /// The phases of the shard's leaders; if it has none, of all processes.
  Phases LeadersBusy(ShardId shard) const;
  void Tick();
  void TroublesFor(Duration length);
  void Calm();
  void StartEverybody();
  void Rest();
  void CheckQuiet();
  void CheckMoves();
  void CheckSuccession();
  void CheckDeathOf(Machine& machine);
  bool DieAndBeSucceeded(Machine& machine);
  void RunUntilSteady();
  bool RunUntilRest(Duration most);
  static constexpr Duration kRestBound = seconds(240);
  Duration StepBound() const;
  Duration FailoverBound() const;
  RunResult Result() const;

  // Applications that are not well (health.cc).
  void StartHealthTroubles();
  void TroubleHealth();
  static void BeWell(Process& process);
  void CheckUnhealthy();
  Random health_random_;

  // The group's failover settings (failover.cc).
  void StartFailover();
  void WantFailover(const FailoverSettings& settings);
  void SetFailoverUnderClaim();
  void ReleaseByForce();
  void CrashLeaders();
  void CrashALeader();
  void Crash(Process& process);
  Random failover_random_;
  FailoverSettings failover_wanted_;
  std::optional<FailoverSettings> failover_at_claim_;  ///< to be set when a claim is under way

  // The group's placement rules (placement.cc).
  void StartPlacement();
  void WantPlacement(const Placement& placement);
  void SetPlacementUnderWrite();
  /// At rest, if a rule is left. Takes it back, and returns whether all is at rest then.
  bool JudgePlacement();
  Random placement_random_;
  Placement placement_wanted_;
  std::optional<Placement>
      placement_at_write_;  ///< to be set when a claim or transfer is under way

  // Standbys at rest (standbys.cc).
  void SettleStandbys();
  void CheckDeathAmongStandbys(Machine& machine);
  void CheckHeirs();
  PlacementRule DrawHeirRule(HeirRule kind);

  // Weights and labels of nodes (node_orders.cc).
  void StartNodeOrders();
  void CarryOut(const NodeOrder& order);

  // The group's limits of planned moves (limits.cc).
  void StartLimits();
  void AskLimits(const LimitsChange& limits);

  // Stalls of etcd's commits (stalls.cc).
  void StartStalls();
  void StallCommits();
  Random stalls_random_;
  std::uint32_t stalls_ = 0;

  /// Both are in the config.
  void BeginToSet();
  void SetSettings();
  bool AskSettings(const ConfigFact& config);
  template <typename Request>
  void AskSome(const Request& request);
  bool setting_ = false;
  TimePoint ask_settings_until_{};  ///< if nodes are asked for them

  // Storms (storms.cc).
  RunResult RunStorms();
  bool StormsAreOver() const;
  void LeadAgain();
  void NextStorm(Machine& machine);
  void AwaitLeader(Machine& machine, int looks);
  void StrikeMachine(Machine& machine);
  void Happen(Storm storm, Machine& machine, Process& process);
  void StartAgain(Machine& machine, int most_millis);
  void StartOnceEnded(Machine& machine, SessionId session, int looks);
  void ForkSome(Process& process);
  /// Gives the sessions that a guard of this machine finds in the file besides its node's (Guard).
  std::function<SessionId()> ForgedFor(const Machine& machine);
  void PlanToCloseDescriptors(Process& process);
  void StopGuards(Machine& machine);
  void KillGuards(Machine& machine);
  void DieTwice(Machine& machine, int times);
  Random files_random_;  ///< of what happens to the files in state directories

  // Mishaps (mishaps.cc).
  void NextMishap();
  void NextSteered(const SteeredMishap& next);
  void Inject(Mishap mishap, std::uint32_t number, Random random);
  /// Runs it later, unless calm has come, with the random numbers of the same mishap.
  void Later(Duration delay, std::function<void()> what);
  void Happen(Mishap mishap);
  void HappenToNode(Mishap mishap);
  void HappenToEtcd(Mishap mishap);
  void HappenToOldEtcd(Mishap mishap);
  void HappenByOperator(Mishap mishap);
  void StartTwin(Machine& machine);
  void KillSome(Process* process);
  void PauseSome();
  /// Pauses it, alone or with its machine.
  void Halt(Process& process);
  void Stutter(Process* process, int times);
  void Flap(Process* process, int times);
  void CutSome();
  void CompactSome();
  void LoseQuorum();
  void FillDatabase();
  void DeleteSome();
  void DeleteMember(const NodeId& node);
  void DamageSome();
  void SpoilConfig();
  void RepairConfig(const std::string& good);
  void AskTransfer();
  void AskTransfers();
  void AskPolicy();
  int policies_asked_ = 0;
  // Mishaps that wait for their moment (ambush.cc).
  struct Ambush {
    Phase moment{};
    Mishap strike{};
    Random random;
  };
  void LieInWait();
  void AddAmbush(Phase moment, Mishap strike);
  void Began(int process, Phase phase);
  void Spring(const Ambush& ambush, int process);
  Process* LeaderOfMoveTo(const NodeId& target) const;
  void BlindTransfer();
  // Coincidences that hardly ever happen by chance (seldom.cc).
  void ArrangeSeldom();
  /// Brings a process into that phase, if that is possible.
  void Provoke(Phase phase);
  void LoseSessions();
  void TakeOverInBadNetwork();
  void ArmFailure();
  void BreakDisk();
  void ArrangeLateRevoke();
  void LateTakeover();
  void RecoverStuck();
  void WorsenNetwork();
  void RefuseTokens();
  void LoseADeletion();
  void OperatorPut(const std::string& key, const std::string& value, std::int64_t lease);
  bool OperatorDelete(const std::string& key);
  void Damage(const std::string& key, Phases busy);
  void DeletePolicies();
  Machine& AnyMachine();
  void Strike(Fault fault, Process& process);

  // A move that meets one trouble at rest (moves_in_trouble.cc).
  enum class MoveTrouble : std::uint8_t {
    kTargetSuspended,
    kLeaderSuspended,
    kBalancerDies,
    kTargetStands,
    kPlannedAnew,
    kDatabaseFull,
    kRefuses,  ///< from here on: etcd refuses writes for their size
    kWithdrawalRefused = kRefuses,
    kTransferRefused,
    kInPortions,
  };
  static constexpr std::uint64_t kMoveTroubles = 9;
  struct Handoff {
    ShardId shard;
    Process* leader = nullptr;
    Process* target = nullptr;
  };
  void TroubleMove();
  std::optional<Handoff> DrawHandoff(MoveTrouble trouble);
  void Happen(MoveTrouble trouble, const Handoff& move);
  bool Until(const std::function<bool()>& so, Duration most);
  bool UntilPhase(const Handoff& move, MovePhase phase);
  static void AskTransfer(ShardId shard, const Process& target, Process& asked);
  void MoveWhileSuspended(const Handoff& move, Process& sleeper, Process& asked);
  void MoveToDying(const Handoff& move);
  void MoveToStanding(const Handoff& move);
  void RefuseWithdrawal(const Handoff& move);
  void RefuseTransfer(const Handoff& move);
  void RefuseWrites();
  void PlanAnew(const Handoff& move);
  void LosePortion(const Handoff& move);
  void FillUnderTransfer(const Handoff& move);

  // Members in trouble at rest (members_in_trouble.cc).
  enum class MemberTrouble : std::uint8_t {
    kVanish,
    kComeBack,
    kLeaveInOrder,
    kComesAndGoes,
    kKeyWithoutLease,
    kPaced,
    kEtcdRestored,  ///< nothing can come after it
  };
  void TroubleMembers();
  MemberTrouble DrawMemberTrouble();
  void Happen(MemberTrouble trouble);
  /// Starts what has ended, and waits for rest.
  bool RestWithAll();
  std::vector<Machine*> DrawMachines(std::size_t count);
  void Vanish(Machine& machine);
  bool LoseSession(Machine& machine);
  bool AllKnow(const NodeId& node, SessionId session) const;
  void VanishTogether();
  /// By then every node has heard of a vacancy, and it is claimed, if nothing holds claims back.
  Duration ClaimedWithin() const;
  void VanishWithoutBrake(Machine& machine, TimePoint since);
  void ComeBack();
  void LeaveInOrder();
  void ComeAndGo();
  void PutWithoutLease();
  void ClaimAtALowLimit();
  void DeleteInTurn(Duration every);
  void CheckPace(std::int64_t nodes, const std::vector<TimePoint>& claims);
  void CheckShares(const std::vector<TimePoint>& claims);
  void RestoreEtcd();
  bool KnowsLater(const Process& process, const Store& backup) const;

  // Strikes (strikes.cc).
  enum class Moment : std::uint8_t { kGiving, kReleasing, kWriting, kJoining };
  static constexpr std::uint64_t kStrikeMoments = 4;
  struct ArmedStrike {
    Moment when;
    TimePoint until;
    Random random;
  };
  void ArmStrike();
  void ConsiderStrike(Process& process);
  std::optional<ShardId> ShardInMoment(const Process& process);
  void StrikeHandoff(Process& giver, ShardId shard);
  void StrikeProcess(Process& process);
  void LeaveAlone(Process& giver, Machine& target);
  void BlackOut(Process& process);
  void DeleteAndRestore(Process& process);
  void ReadAnew(Process& process);

  Process* AnyRunning();
  int AnyMember() { return random_.Between(0, EtcdModel::kMembers - 1); }
  ShardId AnyShard();
  /// Something is wrong for this long; then `mend` runs.
  void For(Duration length, std::function<void()> mend);
  void Disturb(Duration length);
  Duration Length(int most_millis) { return milliseconds(random_.Between(50, most_millis)); }

  Plan plan_;
  World world_;
  Random schedule_;
  Random random_;  ///< of the mishap that happens
  std::uint32_t mishap_ = 0;
  const std::vector<SteeredMishap> first_;
  std::vector<Ambush> ambushes_;
  Process* victim_ = nullptr;  ///< of the ambush that strikes
  std::string struck_;         ///< by the mishap that happens, for records
  NetworkFaults network_;
  CallbackFaults callbacks_;
  std::vector<ArmedFailure> failures_;
  EtcdModel etcd_;
  const etcd::Keyspace keyspace_;
  std::vector<Machine> machines_;
  std::vector<std::unique_ptr<Dice>> twins_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::unique_ptr<Checkers> checkers_;
  std::unique_ptr<FieldsKept> fields_;
  std::optional<ArmedStrike> strike_;
  bool calm_ = false;
  bool resting_ = false;        ///< each process acts within moments
  TimePoint troubled_until_{};  ///< except until then
  TimePoint disturbed_until_{};
  bool config_spoilt_ = false;  ///< by the operator, and not yet repaired
};

}  // namespace baton::sim
