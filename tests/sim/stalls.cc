// etcd's commits stall, in a part of the seeds from kFirstSeedWithStalls on: a disk is slow, and
// etcd's leader stays the leader, renews leases and answers reads. A stall lasts up to four TTLs.
// In some runs stalls follow each other, so that nearly every commit is slow. Half of the others
// wait until a process is in the middle of a write.
#include <array>

#include "sim/simulation.h"

namespace baton::sim {
namespace {

constexpr Duration kOneAfterAnother = seconds(1);
constexpr int kWaitsPerMille = 500;

constexpr std::array kWrites = {Phase::kGranting, Phase::kJoining,      Phase::kTakingOver,
                                Phase::kRevoking, Phase::kConfirming,   Phase::kClaiming,
                                Phase::kPrepared, Phase::kTransferring, Phase::kAbandoning,
                                Phase::kPlanning, Phase::kLeaving,      Phase::kPolicy};

}  // namespace

void Simulation::StartStalls() {
  if (plan_.stall_gap_most == Duration{}) return;
  world_.After(stalls_random_.Between(Duration{0}, plan_.stall_gap_most), [this] {
    if (calm_ || world_.stopped()) return;
    Inject(Mishap::kCommitsStall, ++stalls_, stalls_random_.Fork());
    StartStalls();
  });
}

void Simulation::StallCommits() {
  const bool slow = plan_.stall_gap_most <= kOneAfterAnother;
  if (victim_ == nullptr && !slow && random_.Chance(kWaitsPerMille)) {
    const Phase moment = kWrites[random_.Below(kWrites.size())];
    struck_ = std::string(", once somebody is ") + ToString(moment);
    return AddAmbush(moment, Mishap::kCommitsStall);
  }
  if (etcd_.stalled()) return;
  const int ttl = static_cast<int>(plan_.core.ttl / milliseconds(1));
  const bool is_short = slow || random_.Chance(500);
  const int most = is_short ? ttl * 2 / 3 : random_.Chance(600) ? 2 * ttl : 4 * ttl;
  etcd_.SetStalled(true);
  For(Length(most), [this] { etcd_.SetStalled(false); });
}

}  // namespace baton::sim
