#include "sim/guard.h"

#include <utility>

#include "runtime/guard/end_session.h"

namespace baton::sim {
namespace {

constexpr Duration kWakes = milliseconds(20);
constexpr Duration kReads = microseconds(200);
constexpr Duration kConnects = milliseconds(20);
constexpr Duration kStands = seconds(20);

}  // namespace

Guard::Guard(GuardParts parts, Random random)
    : parts_(std::move(parts)),
      random_(random.Fork()),
      host_(parts_.world, parts_.clock, kByGuard),
      executor_(host_, random.Fork(), [] {}),
      transport_({.world = parts_.world,
                  .etcd = parts_.etcd,
                  .host = host_,
                  .faults = parts_.network,
                  .dice = parts_.dice,
                  .random = random.Fork(),
                  .role = &NodeRole()}) {}

Guard::~Guard() { Die(); }

Duration Guard::Moment(Duration most, int stands_per_mille) {
  if (random_.Chance(stands_per_mille)) return random_.Between(Duration{0}, kStands);
  return random_.Between(Duration{0}, most);
}

void Guard::LockFreed() {
  if (dead() || holds_) return;
  host_.After(Moment(kWakes, 50), [this] { TakeLock(); });
}

// While a node has the lock, the guard waits: the node's end calls LockFreed again.
void Guard::TakeLock() {
  if (holds_ || parts_.directory.locked) return;
  holds_ = true;
  ++parts_.directory.guards;
  host_.After(Moment(kReads, 20), [this] { Read(); });
}

// The lock is let go before anything is sent.
void Guard::Read() {
  const StateDirectory& read = parts_.directory;
  std::vector<SessionId> sessions;
  if (read.guarded) sessions = {read.session, read.previous, parts_.forged()};
  holds_ = false;
  --parts_.directory.guards;
  for (const SessionId session : sessions) {
    if (session.value == 0) continue;
    host_.After(Moment(kConnects, 50), [this, session] { End(session); });
  }
}

void Guard::End(SessionId session) {
  executor_.Post([this, session] {
    runtime::EndSession(
        {transport_, executor_, parts_.clock}, etcd::Keyspace(etcd::kDefaultPrefix, kGroup),
        {.session = {parts_.node, session}}, [](const Result<runtime::SessionFound>&) {});
  });
}

void Guard::Pause() {
  if (!dead()) host_.Pause();
}

void Guard::Resume() {
  if (!dead() && host_.paused()) host_.Resume();
}

void Guard::Die() {
  if (dead()) return;
  host_.Die();
  transport_.Abandon();
  executor_.Clear();
  if (std::exchange(holds_, false)) --parts_.directory.guards;
}

}  // namespace baton::sim
