// Rare troubles, which hardly ever happen among others. They come at rest, so that they show
// whether a group holds claims back when it should, and only then: members that vanish together,
// come back, leave in order or come and go; keys without a lease; claims of everything at a low
// limit; and, at the very end of a run, an etcd that is restored from a backup.
#include <algorithm>
#include <utility>

#include "sim/simulation.h"

namespace baton::sim {
namespace {

constexpr std::uint64_t kMembersInTrouble = 0x3E3BE5;  // part of the seed
constexpr Duration kCommitsSoon = milliseconds(80);
constexpr Duration kHeard = milliseconds(300);  // by all, with room for a few commits
constexpr int kCommitsOfAClaim = 4;
constexpr int kCommitsOfASession = 8;
constexpr Duration kSessionWithin = seconds(5);
constexpr Duration kHaltsWithin = seconds(20);
constexpr int kStaysMost = 3000;  // milliseconds
constexpr int kGarbagePerMille = 300;
constexpr std::int64_t kBump = 10'000;
constexpr std::size_t kVanish = 3;  // more than the brake allows
// All shards are claimed in this time if all keep to the limit.
constexpr std::uint32_t kSecondsOfClaims = 4;
constexpr Duration kClaimedWithin = seconds(60);
constexpr int kSharesPerMille = 500;
constexpr int kOneHasAllPerMille = 500;
// Claims that are sent at once: hardly any news of one reaches another node meanwhile.
constexpr Duration kAtOnce = milliseconds(20);
constexpr Duration kLaterAtMost = seconds(1);

// The most within so long.
std::size_t MostWithin(Duration length, const std::vector<TimePoint>& times) {
  std::size_t most = 0;
  for (auto first = times.begin(), last = first; last != times.end(); ++last) {
    while (*last - *first >= length) ++first;
    most = std::max(most, static_cast<std::size_t>(last - first) + 1);
  }
  return most;
}

}  // namespace

void Simulation::TroubleMembers() {
  if (world_.stopped()) return;
  const Random kept = std::exchange(random_, Random(Mixed(plan_.seed, kMembersInTrouble)));
  if (RestWithAll()) {
    const MemberTrouble trouble = DrawMemberTrouble();
    if (world_.verbose()) {
      world_.Say("trouble " + std::to_string(static_cast<int>(trouble)) + " for members");
    }
    Happen(trouble);
    const bool over = trouble == MemberTrouble::kEtcdRestored;
    if (!over && RestWithAll()) {
      SettleStandbys();
      checkers_->CheckRest();
    }
  }
  random_ = kept;
}

// Of those for which the group is large enough. Whether the brake is on without need only shows if
// claims take much less than the settle time.
Simulation::MemberTrouble Simulation::DrawMemberTrouble() {
  std::vector<MemberTrouble> possible = {MemberTrouble::kKeyWithoutLease,
                                         MemberTrouble::kEtcdRestored};
  const bool shows =
      plan_.etcd.commit_most <= kCommitsSoon && plan_.core.settle >= 2 * ClaimedWithin();
  if (machines_.size() >= 3) {
    possible.push_back(MemberTrouble::kComesAndGoes);
    possible.push_back(MemberTrouble::kPaced);
    if (shows) possible.push_back(MemberTrouble::kComeBack);
  }
  if (machines_.size() > kVanish) {
    possible.push_back(MemberTrouble::kVanish);
    if (shows) possible.push_back(MemberTrouble::kLeaveInOrder);
  }
  return possible[random_.Below(possible.size())];
}

void Simulation::Happen(MemberTrouble trouble) {
  switch (trouble) {
    case MemberTrouble::kVanish: return VanishTogether();
    case MemberTrouble::kComeBack: return ComeBack();
    case MemberTrouble::kLeaveInOrder: return LeaveInOrder();
    case MemberTrouble::kComesAndGoes: return ComeAndGo();
    case MemberTrouble::kKeyWithoutLease: return PutWithoutLease();
    case MemberTrouble::kPaced: return ClaimAtALowLimit();
    case MemberTrouble::kEtcdRestored: return RestoreEtcd();
  }
}

bool Simulation::RestWithAll() {
  if (world_.stopped()) return false;
  for (Machine& machine : machines_) Start(machine);
  Disturb(2 * Duration(plan_.core.ttl) + seconds(5));
  world_.RunUntil(world_.now() + 2 * Duration(plan_.core.ttl) + seconds(5));
  RunUntilSteady();
  world_.RunUntil(world_.now() + plan_.core.rebalance_delay + seconds(1));
  return RunUntilRest(kRestBound);
}

// So many machines in a drawn order.
std::vector<Simulation::Machine*> Simulation::DrawMachines(std::size_t count) {
  std::vector<Machine*> drawn;
  for (Machine& machine : machines_) drawn.push_back(&machine);
  for (std::size_t i = drawn.size(); i > 1; --i) std::swap(drawn[i - 1], drawn[random_.Below(i)]);
  drawn.resize(count);
  return drawn;
}

// The machine's process dies, and its lease ends at once.
void Simulation::Vanish(Machine& machine) {
  Process* process = ProcessOf(machine);
  if (process == nullptr) return;
  const SessionId session = process->session();
  process->Kill();
  etcd_.OperatorRevoke(session.value);
}

// Ends the session of a process that lives, and waits until all know its next one.
bool Simulation::LoseSession(Machine& machine) {
  Process* process = ProcessOf(machine);
  if (process == nullptr) return false;
  const SessionId lost = process->session();
  etcd_.OperatorRevoke(lost.value);
  return Until(
      [&] {
        const SessionId next = process->session();
        return next != lost && AllKnow(machine.node, next);
      },
      kSessionWithin + kCommitsOfASession * plan_.etcd.commit_most);
}

bool Simulation::AllKnow(const NodeId& node, SessionId session) const {
  return session.value != 0 &&
         std::all_of(processes_.begin(), processes_.end(), [&](const auto& process) {
           if (!process->alive()) return true;
           const MemberFact* known = process->core().view().member(node);
           return known != nullptr && known->HoldsSession(session);
         });
}

// More members are gone at once than the brake allows. The checkers look at each claim.
void Simulation::VanishTogether() {
  const std::size_t most = machines_.size() - 1;
  const std::size_t count = kVanish + static_cast<std::size_t>(random_.Below(most - kVanish + 1));
  for (Machine* machine : DrawMachines(count)) Vanish(*machine);
  world_.RunUntil(world_.now() + plan_.core.settle + seconds(3));
}

Duration Simulation::ClaimedWithin() const {
  return kHeard + kCommitsOfAClaim * plan_.etcd.commit_most;
}

// The machine's member vanishes now, and members went that the brake must not count, the first of
// them at `since`. If it counted them, nobody would claim for the settle time from then on.
void Simulation::VanishWithoutBrake(Machine& machine, TimePoint since) {
  std::vector<ShardId> led;
  for (std::uint32_t s = 0; s < plan_.core.shards; ++s) {
    const bool its = checkers_->RecordOf(ShardId{s}).leader == machine.node;
    if (its && checkers_->WaitIfItDies(ShardId{s}) == Duration{0}) led.push_back(ShardId{s});
  }
  const TimePoint bound = world_.now() + ClaimedWithin();
  if (world_.stopped() || since + plan_.core.settle <= bound + kHeard) return;
  if (world_.verbose()) world_.Say(machine.node + " vanishes, and nobody waits");
  Vanish(machine);
  world_.RunUntil(bound);
  for (const ShardId shard : led) {
    if (world_.stopped() || checkers_->RecordOf(shard).leader != machine.node) continue;
    checkers_->Violation("I11", "shard " + std::to_string(shard.value) + " of " + machine.node +
                                    ", the only member that is gone, was not claimed at once");
  }
}

// Two members lose their sessions and come back; then another one vanishes.
void Simulation::ComeBack() {
  const std::vector<Machine*> drawn = DrawMachines(3);
  const TimePoint since = world_.now();
  if (!LoseSession(*drawn[0]) || !LoseSession(*drawn[1])) return;
  VanishWithoutBrake(*drawn[2], since);
}

// Two members leave in order; then another one vanishes.
void Simulation::LeaveInOrder() {
  const std::vector<Machine*> drawn = DrawMachines(3);
  std::optional<TimePoint> since;
  for (Machine* machine : {drawn[0], drawn[1]}) {
    if (Process* process = ProcessOf(*machine)) process->Drain();
  }
  const auto gone = [&](const Machine* machine) { return !checkers_->IsMember(machine->node); };
  const bool left = Until(
      [&] {
        if (!since && (gone(drawn[0]) || gone(drawn[1]))) since = world_.now();
        return gone(drawn[0]) && gone(drawn[1]);
      },
      plan_.core.drain_timeout + seconds(5));
  if (left) VanishWithoutBrake(*drawn[2], *since);
}

// A member's sessions end soon after they began, again and again. The checkers look at what it is
// given.
void Simulation::ComeAndGo() {
  Machine& machine = *DrawMachines(1).front();
  for (int times = core::kFlapsAfter + random_.Between(0, 2); times > 0; --times) {
    if (!LoseSession(machine)) return;
    if (times > 1) world_.RunUntil(world_.now() + Length(kStaysMost));
  }
}

// Somebody puts the member's key by hand, without a lease, while the node is away or in its place.
void Simulation::PutWithoutLease() {
  Machine& machine = *DrawMachines(1).front();
  const std::string key = keyspace_.MemberKey(machine.node);
  const pb::KeyValue* stored = etcd_.store().Get(key);
  if (stored == nullptr) return;
  const std::string value = random_.Chance(kGarbagePerMille) ? "\xff\xff garbage" : stored->value();
  if (random_.Chance(500)) Vanish(machine);
  Disturb(kSessionWithin);
  OperatorPut(key, value, 0);
  world_.RunUntil(world_.now() + Length(kStaysMost));
  Start(machine);
  const Duration most = kSessionWithin + kCommitsOfASession * plan_.etcd.commit_most;
  if (Until([&] { return checkers_->IsMember(machine.node); }, most) || world_.stopped()) return;
  checkers_->Violation("I11", machine.node + " does not replace its key, which has no lease");
}

// All stop, and start with so low a limit that it decides how fast they claim. In some runs it is
// enough for all shards in a second, and perhaps all but one have no weight: then the nodes' shares
// of the limit are looked at. In the others an operator deletes all records, one after another, so
// that vacancies come little by little.
void Simulation::ClaimAtALowLimit() {
  for (Machine& machine : machines_) {
    if (Process* process = ProcessOf(machine)) process->Stop();
  }
  const auto alive = [](const auto& process) { return process->alive(); };
  Disturb(plan_.core.drain_timeout + seconds(10));
  const bool left = Until([&] { return std::none_of(processes_.begin(), processes_.end(), alive); },
                          plan_.core.drain_timeout + seconds(10));
  for (const auto& process : processes_) process->Kill();
  const auto nodes = static_cast<std::int64_t>(machines_.size());
  const bool shares = left && random_.Chance(kSharesPerMille);
  plan_.core.event_deliveries_per_second =
      plan_.core.shards * nodes / (shares ? 1 : kSecondsOfClaims);
  if (shares && random_.Chance(kOneHasAllPerMille)) {
    for (Machine* machine : DrawMachines(machines_.size() - 1)) machine->settings.weight = 0;
  }
  checkers_->CountClaims();
  for (Machine& machine : machines_) Start(machine);
  Disturb(kClaimedWithin);
  if (!Until([&] { return checkers_->AllLed(); }, kClaimedWithin)) return;
  if (shares) {
    const std::vector<TimePoint> claims = checkers_->TakeClaims();
    // Standbys that become ready meanwhile change the shares.
    if (plan_.placement_in_calm.empty()) CheckShares(claims);
    return;
  }
  CheckPace(nodes, checkers_->TakeClaims());
  if (!RunUntilRest(kRestBound)) return;
  checkers_->CountClaims();
  // Faster than the limit, but no node alone reaches it.
  DeleteInTurn(Duration(seconds(kSecondsOfClaims)) * 3 / (2 * nodes * plan_.core.shards));
  Disturb(kClaimedWithin);
  const bool led = Until([&] { return checkers_->AllLed(); }, kClaimedWithin);
  if (led) CheckPace(nodes, checkers_->TakeClaims());
}

// Deletes all records: of each leader's one in turn, so that each leader claims its own again
// before its next one goes.
void Simulation::DeleteInTurn(Duration every) {
  std::map<NodeId, std::vector<ShardId>> led;
  for (std::uint32_t s = 0; s < plan_.core.shards; ++s) {
    led[checkers_->RecordOf(ShardId{s}).leader].push_back(ShardId{s});
  }
  for (std::size_t turn = 0; turn < plan_.core.shards; ++turn) {
    for (const auto& [node, shards] : led) {
      if (turn >= shards.size()) continue;
      OperatorDelete(keyspace_.ShardKey(shards[turn]));
      world_.RunUntil(world_.now() + every);
    }
  }
}

// Each node may have claimed one shard more than its part of the limit.
void Simulation::CheckPace(std::int64_t nodes, const std::vector<TimePoint>& claims) {
  const std::size_t most = MostWithin(seconds(1), claims);
  const std::size_t limit = (plan_.core.shards + kSecondsOfClaims - 1) / kSecondsOfClaims;
  if (world_.verbose()) {
    world_.Say(std::to_string(most) + " claims in a second, the limit is " + std::to_string(limit));
  }
  if (most <= limit + static_cast<std::size_t>(nodes)) return;
  checkers_->Violation("I11", std::to_string(most) + " shards were claimed in a second, where " +
                                  std::to_string(limit) + " is the limit of all nodes");
}

// The limit is one second for all, and all vacancies are there at once. So the nodes share it by
// what falls to each: together they claim a tenth of it at once (each node perhaps one more, as it
// counts in whole claims), and use the other nine tenths up, however they are spread. Slow commits
// halve the pace.
void Simulation::CheckShares(const std::vector<TimePoint>& claims) {
  if (claims.empty() || plan_.etcd.commit_most > kCommitsSoon) return;
  const std::size_t at_once = MostWithin(kAtOnce, claims);
  const std::size_t tenth = plan_.core.shards / 10;
  // A few may be claimed again, because a node did not come to its turn.
  const Duration took = claims[claims.size() * 9 / 10] - claims.front();
  const Duration most = Duration(seconds(1)) * 10 / 9;
  if (world_.verbose()) {
    world_.Say(std::to_string(at_once) + " claims at once, a tenth of the limit is " +
               std::to_string(tenth) + "; nine tenths took " +
               std::to_string(took / milliseconds(1)) + " ms");
  }
  if (at_once > tenth + machines_.size()) {
    checkers_->Violation("I11", std::to_string(at_once) + " shards were claimed at once, where " +
                                    std::to_string(tenth) + " is a tenth of the limit");
  }
  if (took > most * 3 / 2 + kLaterAtMost) {
    checkers_->Violation("I11", "nine tenths of all claims took " +
                                    std::to_string(took / milliseconds(1)) +
                                    " ms, where the limit allows " +
                                    std::to_string(most / milliseconds(1)) + " ms for all");
  }
}

// etcd is restored from a backup, with its revision raised. Each node that knew a later revision of
// a key has to halt.
void Simulation::RestoreEtcd() {
  EtcdModel::Backup backup = etcd_.Save();
  if (!LoseSession(*DrawMachines(1).front())) return;
  RunUntilSteady();
  if (!RunUntilRest(kRestBound)) return;
  std::vector<Process*> know;
  for (const auto& process : processes_) {
    if (process->alive() && KnowsLater(*process, backup.store)) know.push_back(process.get());
  }
  backup.store.Bump(kBump);
  checkers_->Restoring(true);
  etcd_.Restore(backup);
  world_.RunUntil(world_.now() + kHaltsWithin);
  checkers_->Restoring(false);
  for (const Process* process : know) {
    if (process->halted()) continue;
    checkers_->Violation("I3", process->node() +
                                   " goes on, although etcd was restored and a key that it knew "
                                   "has an earlier revision");
  }
}

// Whether the process knows a later revision of a key than the backup has.
bool Simulation::KnowsLater(const Process& process, const Store& backup) const {
  for (std::uint32_t s = 0; s < plan_.core.shards; ++s) {
    const pb::KeyValue* stored = backup.Get(keyspace_.ShardKey(ShardId{s}));
    const Revision known = process.core().view().record(ShardId{s}).revision;
    if (stored != nullptr && stored->mod_revision() < known.value) return true;
  }
  return false;
}

}  // namespace baton::sim
