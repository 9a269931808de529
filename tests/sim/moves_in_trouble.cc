// A move meets one trouble while all else is well. If a process then stands still, it shows,
// because nothing else makes any process think the move over again.
#include <algorithm>
#include <utility>

#include "sim/simulation.h"

namespace baton::sim {
namespace {

constexpr std::uint64_t kMoveInTrouble = 0x30FE5;  // part of the seed
constexpr int kTries = 50;
constexpr Duration kLook = microseconds(100);
constexpr Duration kRefuses = milliseconds(400);
constexpr Duration kBeforeDeadline = milliseconds(300);
constexpr Duration kPastDeadline = milliseconds(20);
constexpr Duration kRequestsLost = milliseconds(2300);  // longer than a call waits
constexpr Duration kFull = seconds(30);
constexpr Duration kLedWithin = seconds(5);     // in a full database, with room for slow commits
constexpr Duration kResentWithin = seconds(1);  // after this long at most
constexpr Duration kQuickCommit = milliseconds(10);
constexpr int kLowLimit = 8;
constexpr int kAskedAtOnce = 8;
constexpr std::size_t kGivenAtOnce = 3;

}  // namespace

void Simulation::TroubleMove() {
  if (world_.stopped() || machines_.size() < 2) return;
  const Random kept = std::exchange(random_, Random(Mixed(plan_.seed, kMoveInTrouble)));
  // A process that etcd refused for a write's size writes shard after shard for a long time. So
  // this is not tried if each write takes long.
  const bool quick = plan_.etcd.commit_most <= kQuickCommit;
  const auto trouble = static_cast<MoveTrouble>(
      random_.Below(quick ? kMoveTroubles : static_cast<std::uint64_t>(MoveTrouble::kRefuses)));
  if (const auto move = DrawHandoff(trouble)) {
    if (world_.verbose()) {
      world_.Say("trouble " + std::to_string(static_cast<int>(trouble)) + " for a move to " +
                 move->target->node());
    }
    Happen(trouble, *move);
    if (RunUntilRest(kRestBound)) {
      for (Machine& machine : machines_) Start(machine);
      world_.RunUntil(world_.now() + plan_.core.rebalance_delay + seconds(1));
      RunUntilRest(kRestBound);
    }
  }
  random_ = kept;
}

// If the target is the balancer, it dies with that role; otherwise the balancer must live.
std::optional<Simulation::Handoff> Simulation::DrawHandoff(MoveTrouble trouble) {
  const Process* planner = checkers_->Planner();
  for (int i = 0; i < kTries; ++i) {
    const ShardId shard = AnyShard();
    const NodeId& leader = checkers_->RecordOf(shard).leader;
    const auto leads = std::find_if(machines_.begin(), machines_.end(),
                                    [&](const Machine& machine) { return machine.node == leader; });
    Process* target = ProcessOf(AnyMachine());
    if (planner == nullptr || leads == machines_.end() || target == nullptr) continue;
    Process* from = ProcessOf(*leads);
    const bool planned_by_target = trouble == MoveTrouble::kBalancerDies;
    if (from == nullptr || from == target || (target == planner) != planned_by_target) continue;
    return Handoff{shard, from, target};
  }
  return std::nullopt;
}

void Simulation::Happen(MoveTrouble trouble, const Handoff& move) {
  switch (trouble) {
    case MoveTrouble::kTargetSuspended: return MoveWhileSuspended(move, *move.target, *move.leader);
    case MoveTrouble::kLeaderSuspended: return MoveWhileSuspended(move, *move.leader, *move.target);
    case MoveTrouble::kBalancerDies: return MoveToDying(move);
    case MoveTrouble::kTargetStands: return MoveToStanding(move);
    case MoveTrouble::kWithdrawalRefused: return RefuseWithdrawal(move);
    case MoveTrouble::kTransferRefused: return RefuseTransfer(move);
    case MoveTrouble::kPlannedAnew: return PlanAnew(move);
    case MoveTrouble::kInPortions: return LosePortion(move);
    case MoveTrouble::kDatabaseFull: return FillUnderTransfer(move);
  }
}

bool Simulation::Until(const std::function<bool()>& so, Duration most) {
  const TimePoint bound = world_.now() + most;
  while (!so() && !world_.stopped() && world_.now() < bound) world_.RunUntil(world_.now() + kLook);
  return so() && !world_.stopped();
}

bool Simulation::UntilPhase(const Handoff& move, MovePhase phase) {
  return Until(
      [&] {
        const MoveFact* stored = checkers_->MoveOf(move.shard);
        return stored != nullptr && stored->phase == phase;
      },
      seconds(1) + 4 * plan_.etcd.commit_most);
}

void Simulation::AskTransfer(ShardId shard, const Process& target, Process& asked) {
  asked.Ask(runtime::TransferRequest{
      .shard = shard, .to = target.node(), .if_term = {}, .actor = "operator"});
}

// The process stands still until its deadline is past, while its lease lives: it is suspended when
// it hears the first news.
void Simulation::MoveWhileSuspended(const Handoff& move, Process& sleeper, Process& asked) {
  sleeper.Pause();
  const Clock& clock = sleeper.host().clock();
  const Duration left = sleeper.core().session().deadline() - clock.Now();
  const TimePoint over = world_.now() + sleeper.host().TrueDuration(left);
  world_.RunUntil(over - kBeforeDeadline - 2 * plan_.etcd.commit_most);
  AskTransfer(move.shard, *move.target, asked);
  world_.RunUntil(over + kPastDeadline);
  sleeper.Resume();
}

// The next balancer hears of the move before it is elected, and hears nothing of it after.
void Simulation::MoveToDying(const Handoff& move) {
  AskTransfer(move.shard, *move.target, *move.leader);
  UntilPhase(move, MovePhase::kPlanned);
  move.target->Kill();
  world_.RunUntil(world_.now() + Duration(plan_.core.ttl) + plan_.core.settle);
}

// The target stands still from its renewal on, so that its lease outlives the move's bound.
void Simulation::MoveToStanding(const Handoff& move) {
  const Duration bound = plan_.core.prepare_timeout * 2 + StepBound();
  if (bound > Duration(plan_.core.ttl)) return;
  const TimePoint deadline = move.target->core().session().deadline();
  Until([&] { return move.target->core().session().deadline() != deadline; }, plan_.core.ttl);
  move.target->Pause();
  AskTransfer(move.shard, *move.target, *move.leader);
  world_.RunUntil(world_.now() + bound);
  move.target->Resume();
}

// The move's target dies. Once that is known, etcd refuses every write for a while.
void Simulation::RefuseWithdrawal(const Handoff& move) {
  AskTransfer(move.shard, *move.target, *move.leader);
  UntilPhase(move, MovePhase::kPlanned);
  move.target->Kill();
  Until([&] { return !checkers_->IsMember(move.target->node()); },
        2 * Duration(plan_.core.ttl) + seconds(2));
  RefuseWrites();
}

void Simulation::RefuseTransfer(const Handoff& move) {
  AskTransfer(move.shard, *move.target, *move.leader);
  if (UntilPhase(move, MovePhase::kPrepared)) RefuseWrites();
}

void Simulation::RefuseWrites() {
  troubled_until_ = world_.now() + kRefuses;
  etcd_.SetOperations(1);
  world_.RunUntil(world_.now() + kRefuses);
  etcd_.SetOperations(128);
}

// The move is prepared, not carried out yet, and asked for once more: the target must prepare
// again.
void Simulation::PlanAnew(const Handoff& move) {
  AskTransfer(move.shard, *move.target, *move.target);
  if (!UntilPhase(move, MovePhase::kPlanned)) return;
  move.leader->Pause();
  const bool known = UntilPhase(move, MovePhase::kPrepared) &&
                     Until(
                         [&] {
                           const MoveFact* seen = move.target->core().view().move(move.shard);
                           return seen != nullptr && seen->phase == MovePhase::kPrepared;
                         },
                         seconds(1));
  if (known) {
    AskTransfer(move.shard, *move.target, *move.target);
    UntilPhase(move, MovePhase::kPlanned);
  }
  move.leader->Resume();
}

// etcd's database fills up under the transfer, which is applied or not, or just before it. Nobody
// frees space for a long time. Meanwhile the shard must not stay without a leader.
void Simulation::FillUnderTransfer(const Handoff& move) {
  AskTransfer(move.shard, *move.target, *move.target);
  if (!UntilPhase(move, MovePhase::kPrepared)) return;
  troubled_until_ = world_.now() + kFull + kResentWithin;
  random_.Chance(500) ? etcd_.FillUnder(Phase::kTransferring) : etcd_.Fill();
  const TimePoint over = world_.now() + kFull;
  TimePoint led_at = world_.now();
  while (!world_.stopped() && world_.now() < over) {
    world_.RunUntil(world_.now() + milliseconds(20));
    const auto leads = [&](const Process* process) {
      return process->alive() && process->Get(move.shard).leads;
    };
    if (leads(move.leader) || leads(move.target)) led_at = world_.now();
    if (world_.now() - led_at <= kLedWithin) continue;
    checkers_->Violation("I5", "shard " + std::to_string(move.shard.value) +
                                   " has no leader because the database filled up under its move");
    break;
  }
  etcd_.Free();
  etcd_.Disarm();
}

// One write of several portions transfers many shards. An operator has deleted a move of one
// portion, and the next portion is lost.
void Simulation::LosePortion(const Handoff& move) {
  etcd_.SetOperations(kLowLimit);
  const auto& held = move.leader->core().leaderships().held();
  int asked = 0;
  for (auto next = held.begin(); next != held.end() && asked < kAskedAtOnce; ++next, ++asked) {
    AskTransfer(next->first, *move.target, *move.target);
  }
  std::vector<ShardId> given;
  const bool many = Until(
      [&] {
        given.clear();
        for (const auto& [shard, of] : move.leader->core().leaderships().held()) {
          if (std::holds_alternative<core::Leaderships::Giving>(of.phase)) given.push_back(shard);
        }
        return given.size() >= kGivenAtOnce;
      },
      seconds(1) + 4 * plan_.etcd.commit_most);
  if (many) {
    OperatorDelete(keyspace_.MoveKey(given.front()));
    Until(
        [&] {
          return std::any_of(given.begin(), given.end(), [&](ShardId shard) {
            return checkers_->RecordOf(shard).leader == move.target->node();
          });
        },
        seconds(1) + 4 * plan_.etcd.commit_most);
    network_.request_lost = 1000;
    troubled_until_ = world_.now() + 2 * kRequestsLost + kResentWithin;
    world_.RunUntil(world_.now() + kRequestsLost);
    network_.request_lost = 0;
  }
  etcd_.SetOperations(128);
}

}  // namespace baton::sim
