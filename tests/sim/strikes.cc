// Strikes: mishaps that wait until a process is in the middle of something, and hit it there. By
// chance alone such coincidences are too rare.
#include <algorithm>
#include <utility>

#include "sim/simulation.h"

namespace baton::sim {
namespace {

constexpr Duration kStrikeWaits = seconds(8);
constexpr int kStrikeDelayMost = 2000;  // microseconds
constexpr int kLateReplies = 500;       // of a thousand

template <typename Phase>
std::optional<ShardId> ShardIn(const Process& process) {
  for (const auto& [shard, held] : process.core().leaderships().held()) {
    if (std::holds_alternative<Phase>(held.phase)) return shard;
  }
  return std::nullopt;
}

}  // namespace

void Simulation::ArmStrike() {
  strike_ = ArmedStrike{.when = Moment(random_.Below(kStrikeMoments)),
                        .until = world_.now() + kStrikeWaits,
                        .random = random_.Fork()};
}

std::optional<ShardId> Simulation::ShardInMoment(const Process& process) {
  switch (strike_->when) {
    case Moment::kGiving: return ShardIn<core::Leaderships::Giving>(process);
    case Moment::kReleasing: return ShardIn<core::Leaderships::Releasing>(process);
    case Moment::kWriting:
      if (process.core().pending_writes() == 0) return std::nullopt;
      break;
    case Moment::kJoining:
      if (!process.core().view().complete() || process.core().session().member()) {
        return std::nullopt;
      }
      break;
  }
  return AnyShard();
}

// Called whenever something ran in a process.
void Simulation::ConsiderStrike(Process& process) {
  if (!strike_ || calm_ || !process.running()) return;
  if (world_.now() >= strike_->until) return strike_.reset();
  const Random kept = std::exchange(random_, strike_->random);
  if (const std::optional<ShardId> shard = ShardInMoment(process)) {
    const bool handoff = strike_->when == Moment::kGiving || strike_->when == Moment::kReleasing;
    strike_.reset();
    const Duration delay = random_.Chance(500)
                               ? Duration{0}
                               : Duration(microseconds(random_.Between(0, kStrikeDelayMost)));
    Later(delay, [this, &process, shard = *shard, handoff] {
      if (!process.running()) return;
      if (world_.verbose()) world_.Say("strike at " + process.node());
      if (handoff && random_.Chance(800)) return StrikeHandoff(process, shard);
      StrikeProcess(process);
    });
  }
  random_ = kept;
}

void Simulation::StrikeHandoff(Process& giver, ShardId shard) {
  const MoveFact* move = giver.core().view().move(shard);
  if (move == nullptr) return;
  const auto target = std::find_if(machines_.begin(), machines_.end(), [&](const Machine& machine) {
    return machine.node == move->to;
  });
  if (target == machines_.end()) return;
  switch (random_.Between(0, 4)) {
    case 0: return LeaveAlone(giver, *target);
    case 1:
      Disturb(seconds(5));
      OperatorDelete(keyspace_.MoveKey(shard));
      return;
    case 2: Disturb(seconds(5)); return DeleteMember(target->node);
    case 3:
      if (Process* process = ProcessOf(*target)) KillSome(process);
      return;
    default: return Flap(&giver, 1);
  }
}

// Nothing that the giver sends gets out, and it hears that the handoff's target can't take part;
// all others stand still.
void Simulation::LeaveAlone(Process& giver, Machine& target) {
  const int ttl = static_cast<int>(plan_.core.ttl / milliseconds(1));
  const Duration length = milliseconds(random_.Between(ttl / 2, ttl));
  for (const auto& process : processes_) {
    if (process.get() == &giver || !process->running()) continue;
    Strike(Fault::kPause, *process);
    process->Pause();
    For(length + milliseconds(random_.Between(0, ttl / 2)), [process = process.get()] {
      if (process->paused()) process->Resume();
    });
  }
  for (int member = 0; member < EtcdModel::kMembers; ++member) {
    giver.transport().Cut(member, Direction::kOut);
  }
  For(length, [&giver] {
    for (int member = 0; member < EtcdModel::kMembers; ++member) giver.transport().Heal(member);
  });
  Damage(keyspace_.MemberKey(target.node), NodeBusy(target.node));
}

void Simulation::StrikeProcess(Process& process) {
  switch (random_.Between(0, 5)) {
    case 0: return BlackOut(process);
    case 1: return DeleteAndRestore(process);
    case 2: return KillSome(&process);
    case 3: return Stutter(&process, 1);
    case 4: return ReadAnew(process);
    default: return Flap(&process, 1);
  }
}

// The process is cut off until its lease may be over, and what its watch missed is compacted away.
void Simulation::BlackOut(Process& process) {
  const int ttl = static_cast<int>(plan_.core.ttl / milliseconds(1));
  for (int member = 0; member < EtcdModel::kMembers; ++member) {
    process.transport().Cut(member, Direction::kBoth);
  }
  For(milliseconds(random_.Between(ttl / 4, 2 * ttl)), [this, &process] {
    const std::int64_t revision = etcd_.store().revision();
    if (revision > 1) etcd_.Compact(revision);
    for (int member = 0; member < EtcdModel::kMembers; ++member) {
      process.transport().Heal(member);
      process.transport().ConnectionLost(member);
    }
  });
}

// The process's watch ends, and what it misses is compacted away. Answers are late while the
// process reads everything again: some of what it reads is older than what its writes told it.
void Simulation::ReadAnew(Process& process) {
  network_.reply_late = kLateReplies;
  For(seconds(2), [this] { network_.reply_late = plan_.network.reply_late; });
  for (int member = 0; member < EtcdModel::kMembers; ++member) {
    process.transport().ConnectionLost(member);
  }
  AskTransfers();
  if (random_.Chance(500)) {
    Later(milliseconds(random_.Between(100, 800)), [&process] {
      if (process.running()) process.Stop();
    });
  }
  Later(milliseconds(random_.Between(5, 90)), [this] { etcd_.Compact(etcd_.store().revision()); });
}

// An operator deletes a member key, and puts its value back.
void Simulation::DeleteAndRestore(Process& process) {
  const std::string key = keyspace_.MemberKey(process.node());
  const pb::KeyValue* stored = etcd_.store().Get(key);
  if (stored == nullptr) return;
  Disturb(Duration(plan_.core.ttl) + seconds(5));
  world_.Hit(Fault::kOperatorDeletedMember, NodeBusy(process.node()));
  const std::string value = stored->value();
  const std::int64_t lease = stored->lease();
  OperatorDelete(key);
  OperatorPut(key, value, lease);
}

}  // namespace baton::sim
