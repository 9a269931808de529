// Guard: a process beside a machine's node that ends the node's sessions once its process is dead,
// by the production code (runtime/guard/end_session.h). It may be slow, stand still under its lock
// or between its read and its writes, read a forged file, and die.
//
// For one thread. What it sends may arrive after its own end.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "runtime/executor.h"
#include "sim/host.h"
#include "sim/process.h"
#include "sim/sim_transport.h"

namespace baton::sim {

struct GuardParts {
  World& world;
  EtcdModel& etcd;
  const HostClock& clock;
  const NetworkFaults& network;
  Dice& dice;
  NodeId node;
  StateDirectory& directory;
  /// The session that a forged file names besides the node's own; 0: none, the file is true.
  std::function<SessionId()> forged = [] { return SessionId{}; };
};

class Guard {
 public:
  Guard(GuardParts parts, Random random);
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  /// The directory's exclusive lock was let go: the guard gets the shared one after a moment,
  /// unless another process is faster.
  void LockFreed();
  void Die();
  void Pause();
  /// Goes on, if it is paused.
  void Resume();
  bool dead() const { return host_.dead(); }

 private:
  void TakeLock();
  void Read();
  void End(SessionId session);
  /// Mostly short; sometimes it stands still.
  Duration Moment(Duration most, int stands_per_mille);

  GuardParts parts_;
  Random random_;
  Host host_;
  SimExecutor executor_;
  SimTransport transport_;
  bool holds_ = false;
};

}  // namespace baton::sim
