// EndSession: ends a dead process's session in etcd at once, instead of when its lease runs out.
//
// First, one transaction deletes the member key, if the session still holds it, and names the death
// in `died` (base/writes.h, SessionEnd). Second, EndSession revokes the lease, so that a write that
// the process had sent, and that is still under way, can't put the key any more.
//
// Each call to etcd may take 2 s. While a call's outcome is unknown, EndSession makes it again,
// after a pause that doubles from 20 ms to 2 s. It does so without a limit, with one exception:
// after three unknown outcomes of the transaction, it goes on to the second step. (The outcome is
// unknown also if etcd's database is full. To revoke a lease takes no space there.) It also goes on
// if etcd denies the transaction, because to revoke a lease needs other rights. In both cases the
// other nodes may take the death for an expired lease.
//
// If the transaction did not prove that the session held the member key, EndSession asks etcd
// before the second step which keys have the lease. If a key other than the node's member key has
// it, or etcd refuses to answer, EndSession leaves the lease alone: a forged lock file may name the
// lease of a living node. If etcd answers after three unknown outcomes, EndSession makes the
// transaction once more before the second step, because etcd may only have been away.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/writes.h"
#include "baton/result.h"
#include "etcd/keyspace.h"
#include "etcd/transport.h"
#include "runtime/executor.h"

namespace baton::runtime {

struct EndSessionParts {
  etcd::Transport& transport;
  Executor& executor;  ///< its thread runs everything, also `done`
  const Clock& clock;
  /// Returns a given pause with jitter, so that the guards of many nodes don't all try again at
  /// once. Unset: no jitter.
  std::function<Duration(Duration)> jitter = {};
};

struct DeadSession {
  SessionRef session;
  /// Since when the guard knows that the session's process is dead, by EndSessionParts::clock.
  /// Unset: the guard did not wait for the death, so nobody knows how long the process has been
  /// dead. EndSession writes the time from `known_since` to its transaction into `died`
  /// (DeathFact::detect).
  std::optional<TimePoint> known_since = {};
};

/// Whether the session still held its member key when EndSession came.
enum class SessionFound {
  kHeld,     ///< it did, and has lost it
  kGone,     ///< it had ended before, or had no member key, or its lease was left alone
  kRevoked,  ///< not known. Either the transaction was denied, and the lease was revoked; or its
             ///< outcome is unknown, and the lease was revoked or gone, or etcd did not revoke it.
};
/// Returns at once. `done` is called once, on the executor, unless the executor ends before, or
/// etcd never gives a definite answer. That etcd refuses to revoke the lease is no error if the
/// transaction was not denied. kUnavailable: etcd denies the transaction, and also denies a later
/// step (role, credentials) or shows that another key has the lease; or the transaction's outcome
/// is unknown, and etcd refuses to say which keys have the lease. Then the session ends only when
/// its lease runs out. REQUIRES: the process of the session is dead; called from a function that
/// runs on the executor; what `parts` refers to outlives the call of `done`.
void EndSession(const EndSessionParts& parts, etcd::Keyspace keyspace, const DeadSession& dead,
                std::function<void(Result<SessionFound>)> done);

}  // namespace baton::runtime
