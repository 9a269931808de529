// Storms: crashes on a small group, as dense as it can stand, instead of mishaps of all kinds. Each
// machine is hit by one storm after another: its process is killed, stopped or asked to leave, with
// or without its guards, while a child of it keeps the lock, twice, or together with others; and it
// starts again at once, in a race with its guard, or late. Most storms wait until the process
// leads.
//
// All draws here come from random_, as with mishaps; but not what happens to the files in
// state directories.
#include <algorithm>

#include "sim/simulation.h"

namespace baton::sim {
namespace {

constexpr Duration kStormLook = milliseconds(20);
constexpr Duration kStormsMost = seconds(60);
constexpr int kStartsMost = 300;  // milliseconds, of the group
constexpr int kAtOncePerMille = 200;
constexpr int kAtOnceMost = 400;         // milliseconds
constexpr int kBetweenStormsMost = 200;  // milliseconds, between two storms
constexpr int kLooksForLeader = 200;     // 4 s
constexpr int kRace = 60;                // milliseconds: a guard needs about as long
constexpr int kSoon = 600;               // milliseconds
constexpr int kWithoutDirectoryPerMille = 20;
constexpr int kForksPerMille = 100;
constexpr int kCalmPerMille = 60;
constexpr int kForgedPerMille = 200;  // of the files that guards read
constexpr int kClosesPerMille = 100;
constexpr int kClosesWithin = 3000;  // milliseconds

}  // namespace

RunResult Simulation::RunStorms() {
  Tick();
  for (Machine& machine : machines_) {
    Later(Length(kStartsMost), [this, &machine] {
      StartWith(machine, &machine.directory);
      NextStorm(machine);
    });
  }
  Disturb(seconds(5));
  StartFailover();
  const bool calm = random_.Chance(kCalmPerMille);
  while (!world_.stopped() && world_.now().time_since_epoch() < kStormsMost && !StormsAreOver()) {
    world_.RunUntil(world_.now() + milliseconds(100));
  }
  // Late messages may still come.
  world_.RunUntil(world_.now() + Duration(plan_.core.ttl) + seconds(1));
  if (calm) LeadAgain();
  if (world_.livelocked()) checkers_->Violation("I8", "events without end");
  return Result();
}

bool Simulation::StormsAreOver() const {
  return std::all_of(machines_.begin(), machines_.end(),
                     [&](const Machine& machine) { return machine.storms >= plan_.storms; });
}

// Once nothing happens any more, all shards are led again, also those that wait because their
// leaders died soon.
void Simulation::LeadAgain() {
  for (const auto& process : processes_) {
    while (process->forked()) process->EndChild();
  }
  Calm();
  const TimePoint bound = world_.now() + FailoverBound() + 2 * core::kMaxUnsteadyDelay +
                          checkers_->LongestWaitIfOneDies();
  while (!world_.stopped() && world_.now() < bound && !checkers_->AllLed()) {
    world_.RunUntil(world_.now() + milliseconds(500));
  }
  if (world_.stopped() || checkers_->AllLed()) return;
  checkers_->Violation("I5", "after the storms some shards are led by nobody");
}

void Simulation::NextStorm(Machine& machine) {
  if (machine.storms >= plan_.storms) return StartAgain(machine, kSoon);
  const bool at_once = random_.Chance(kAtOncePerMille);
  Later(Length(at_once ? kAtOnceMost : kBetweenStormsMost),
        [this, &machine, at_once] { AwaitLeader(machine, at_once ? 0 : kLooksForLeader); });
}

void Simulation::AwaitLeader(Machine& machine, int looks) {
  const Process* const process = ProcessOf(machine);
  const bool leads = process != nullptr && process->running() && checkers_->LeadsOf(*process) > 0;
  if (leads || looks == 0) return StrikeMachine(machine);
  Later(kStormLook, [this, &machine, looks] { AwaitLeader(machine, looks - 1); });
}

void Simulation::StrikeMachine(Machine& machine) {
  Process* const process = ProcessOf(machine);
  if (process == nullptr) {
    StartAgain(machine, kRace);
    return NextStorm(machine);
  }
  const auto storm = Storm(random_.Below(kStorms));
  if (world_.verbose()) world_.Say(machine.node + ": storm: " + ToString(storm));
  ++machine.storms;
  checkers_->NoteStorm(storm);
  Disturb(seconds(2));
  if (random_.Chance(kForksPerMille)) ForkSome(*process);
  Happen(storm, machine, *process);
  NextStorm(machine);
}

void Simulation::Happen(Storm storm, Machine& machine, Process& process) {
  switch (storm) {
    case Storm::kKill: Crash(process); return StartAgain(machine, kRace);
    case Storm::kKnown: {
      const SessionId session = process.session();
      Crash(process);
      return StartOnceEnded(machine, session, kLooksForLeader);
    }
    case Storm::kStopAndKill:
      Halt(process);
      Later(Length(kSoon), [this, &machine, &process] {
        if (process.alive()) Crash(process);
        StartAgain(machine, kRace);
      });
      return;
    case Storm::kStop:
      Halt(process);
      For(Length(static_cast<int>(plan_.core.ttl / milliseconds(1)) * 3 / 2), [&process] {
        if (process.paused()) process.Resume();
      });
      return;
    case Storm::kFork:
      ForkSome(process);
      Crash(process);
      return StartAgain(machine, kSoon);
    case Storm::kGuardKilled:
      KillGuards(machine);
      Crash(process);
      return StartAgain(machine, kRace);
    case Storm::kGuardStopped:
      if (random_.Chance(500)) StopGuards(machine);
      Crash(process);
      Later(milliseconds(random_.Between(0, kRace)), [this, &machine] { StopGuards(machine); });
      return StartAgain(machine, kSoon);
    case Storm::kTwice: return DieTwice(machine, random_.Between(2, 4));
    case Storm::kTogether:
      for (Machine& each : machines_) {
        Process* const one = ProcessOf(each);
        if (one == nullptr || (&each != &machine && random_.Chance(400))) continue;
        if (random_.Chance(300)) KillGuards(each);
        Crash(*one);
        StartAgain(each, kSoon);
      }
      return;
    case Storm::kLeave:
      Strike(Fault::kStop, process);
      process.Stop();
      return StartAgain(machine, kSoon);
    case Storm::kDiskLost:
      Crash(process);
      if (random_.Chance(300) && !machine.directory.locked) EmptyDisk(machine);
      return StartAgain(machine, kSoon);
  }
}

// Its supervisor tries again until the lock is free, or gives it no state directory.
void Simulation::StartAgain(Machine& machine, int most_millis) {
  Later(milliseconds(random_.Between(0, most_millis)), [this, &machine, most_millis] {
    Process* const process = ProcessOf(machine);
    if (process != nullptr && !process->leaving()) return;
    if (process == nullptr && random_.Chance(kWithoutDirectoryPerMille)) {
      return StartWith(machine, nullptr);
    }
    const bool free = process == nullptr && !machine.directory.locked;
    return free ? StartWith(machine, &machine.directory) : StartAgain(machine, most_millis + 20);
  });
}

// A forged file names the session of a member that lives: only that member's own guard may end it.
std::function<SessionId()> Simulation::ForgedFor(const Machine& machine) {
  if (plan_.storms == 0) return [] { return SessionId{}; };
  return [this, &machine] {
    if (!files_random_.Chance(kForgedPerMille)) return SessionId{};
    const Machine& other = machines_[files_random_.Below(machines_.size())];
    const pb::KeyValue* const member = etcd_.store().Get(keyspace_.MemberKey(other.node));
    return &other == &machine || member == nullptr ? SessionId{} : SessionId{member->lease()};
  };
}

void Simulation::PlanToCloseDescriptors(Process& process) {
  if (!files_random_.Chance(kClosesPerMille)) return;
  world_.After(milliseconds(files_random_.Between(0, kClosesWithin)),
               [&process] { process.CloseDescriptors(); });
}

// Its guard has ended the session, or the lease has run out.
void Simulation::StartOnceEnded(Machine& machine, SessionId session, int looks) {
  if (looks == 0 || !etcd_.LeaseLives(session.value)) return StartAgain(machine, kRace);
  Later(kStormLook,
        [this, &machine, session, looks] { StartOnceEnded(machine, session, looks - 1); });
}

void Simulation::ForkSome(Process& process) {
  process.Fork();
  const int most = static_cast<int>(plan_.core.ttl / milliseconds(1)) * 3 / 2;
  Later(Length(random_.Chance(500) ? kSoon : most), [&process] {
    if (process.forked()) process.EndChild();
  });
}

// Wherever they are: before they have the lock, under it, or behind it.
void Simulation::StopGuards(Machine& machine) {
  const Duration length = Length(3000);
  for (const auto& guard : machine.guards) {
    guard->Pause();
    Later(length, [guard = guard.get()] { guard->Resume(); });
  }
}

// The process of a node starts another guard, and so does the next one.
void Simulation::KillGuards(Machine& machine) {
  for (const auto& guard : machine.guards) {
    if (guard->dead()) continue;
    guard->Die();
    Later(Length(kSoon), [this, &machine] {
      AddGuard(machine, random_.Fork());
      machine.guards.back()->LockFreed();
    });
  }
}

void Simulation::DieTwice(Machine& machine, int times) {
  Process* const process = ProcessOf(machine);
  if (process != nullptr) Crash(*process);
  StartAgain(machine, kRace);
  if (times == 1) return;
  Later(Length(kAtOnceMost), [this, &machine, times] { DieTwice(machine, times - 1); });
}

}  // namespace baton::sim
