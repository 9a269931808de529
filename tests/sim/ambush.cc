// Mishaps that wait for their moment: they strike a phase that lasts only a few milliseconds, and
// chance alone would seldom meet it.
#include <algorithm>
#include <array>
#include <utility>

#include "sim/simulation.h"

namespace baton::sim {
namespace {

constexpr std::size_t kMaxAmbushes = 4;
constexpr Duration kStrikesWithin = milliseconds(3);

constexpr std::array kMoments = {Phase::kReading,    Phase::kWatching,     Phase::kGranting,
                                 Phase::kJoining,    Phase::kTakingOver,   Phase::kRevoking,
                                 Phase::kClaiming,   Phase::kPrepared,     Phase::kTransferring,
                                 Phase::kAbandoning, Phase::kLeaving,      Phase::kPolicy,
                                 Phase::kTakingOver, Phase::kTransferring, Phase::kAbandoning};

constexpr std::array kStrikes = {Mishap::kPause,
                                 Mishap::kKill,
                                 Mishap::kDrain,
                                 Mishap::kStop,
                                 Mishap::kCut,
                                 Mishap::kConnectionLost,
                                 Mishap::kMemberDown,
                                 Mishap::kMemberFrozen,
                                 Mishap::kMemberIsolated,
                                 Mishap::kMoveLeader,
                                 Mishap::kQuorumLost,
                                 Mishap::kCompaction,
                                 Mishap::kOperatorRevokes,
                                 Mishap::kTwin,
                                 Mishap::kOperatorDeletes,
                                 Mishap::kOperatorGarbage,
                                 Mishap::kTransfer,
                                 Mishap::kPolicy,
                                 Mishap::kTokensRefused,
                                 Mishap::kDatabaseFull};

}  // namespace

void Simulation::LieInWait() {
  const Phase moment = kMoments[random_.Below(kMoments.size())];
  const Mishap strike = kStrikes[random_.Below(kStrikes.size())];
  struck_ = std::string(", ") + ToString(strike) + " once somebody is " + ToString(moment);
  AddAmbush(moment, strike);
  // A handoff is abandoned if its transfer got lost, so this loses one.
  if (moment == Phase::kAbandoning) AddAmbush(Phase::kPrepared, Mishap::kBlindTransfer);
}

void Simulation::AddAmbush(Phase moment, Mishap strike) {
  if (ambushes_.size() >= kMaxAmbushes) ambushes_.erase(ambushes_.begin());
  ambushes_.push_back({moment, strike, random_.Fork()});
}

// Called from within the process's own step: strikes after the step.
void Simulation::Began(int process, Phase phase) {
  if (process < 0) return;  // a guard's
  const bool claims = failover_at_claim_ && phase == Phase::kClaiming;
  if (claims) world_.After(Duration{0}, [this] { SetFailoverUnderClaim(); });
  const bool gives = phase == Phase::kClaiming || phase == Phase::kTransferring;
  if (placement_at_write_ && gives) {
    world_.After(Duration{0}, [this] { SetPlacementUnderWrite(); });
  }
  const auto found = std::find_if(ambushes_.begin(), ambushes_.end(),
                                  [&](const Ambush& ambush) { return ambush.moment == phase; });
  if (found == ambushes_.end()) return;
  Ambush ambush = *found;
  ambushes_.erase(found);
  const Duration delay = ambush.random.Between(Duration{0}, kStrikesWithin);
  world_.After(delay, [this, ambush, process] { Spring(ambush, process); });
}

void Simulation::Spring(const Ambush& ambush, int process) {
  Process* victim = processes_[static_cast<std::size_t>(process)].get();
  if (calm_ || !victim->running()) return;
  const Random kept = std::exchange(random_, ambush.random);
  victim_ = victim;
  Happen(ambush.strike);
  victim_ = nullptr;
  random_ = kept;
}

Process* Simulation::LeaderOfMoveTo(const NodeId& target) const {
  for (const auto& process : processes_) {
    if (!process->running()) continue;
    const core::Core& core = process->core();
    for (const auto& [shard, move] : core.view().moves()) {
      if (move.to == target && core.leaderships().held().contains(shard)) return process.get();
    }
  }
  return nullptr;
}

// The victim has just said that it prepared. The leader's transfer is held on its way. Meanwhile
// the victim's session ends, and the leader hears of that.
void Simulation::BlindTransfer() {
  if (victim_ == nullptr) return AddAmbush(Phase::kPrepared, Mishap::kBlindTransfer);
  Process* target = victim_;
  Process* leader = LeaderOfMoveTo(target->node());
  if (leader == nullptr || leader == target) return;
  struck_.clear();
  for (int member = 0; member < EtcdModel::kMembers; ++member) {
    leader->transport().Cut(member, Direction::kOut);
  }
  For(Length(static_cast<int>(plan_.core.ttl / milliseconds(2))), [leader] {
    for (int member = 0; member < EtcdModel::kMembers; ++member) leader->transport().Heal(member);
  });
  const bool revoked = random_.Chance(600);
  Later(milliseconds(random_.Between(10, 200)), [this, target, revoked] {
    if (!target->running()) return;
    if (!revoked) return KillSome(target);
    const Phases busy = target->Busy();
    if (etcd_.OperatorRevoke(target->session().value)) world_.Hit(Fault::kOperatorRevoked, busy);
  });
}

}  // namespace baton::sim
