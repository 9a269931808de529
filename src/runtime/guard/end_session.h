// EndSession: ends a dead process's session in etcd at once, instead of when its lease runs out.
//
// First, one transaction deletes the member key, if the session still holds it, and names the death
// in `died` (base/writes.h, SessionEnd). Second, the lease is revoked. Then a write that the
// process had sent, and that is still under way, can't put the key any more.
//
// Each call to etcd may take 2 s. While its outcome is unknown, it is sent again, after a pause
// that doubles from 20 ms to 2 s. There is no limit, with one exception. After three unknown
// outcomes of the transaction, or if etcd denies it, the lease is revoked all the same. To revoke
// needs other rights, and no space in etcd's database. The other nodes then take the death for an
// expired lease.
//
// If the session did not hold the member key, or that is not known, EndSession asks before the
// second step which keys have the lease. If another key has it, or etcd refuses to answer, the
// lease is left alone: a forged lock file may name the lease of a living node.
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
  Executor& executor;  ///< runs everything, also `done`
  const Clock& clock;
  /// Returns a given pause with jitter, so that the guards of many nodes don't all try again at
  /// once. Unset: no jitter.
  std::function<Duration(Duration)> jitter = {};
};

struct DeadSession {
  SessionRef session;
  /// Since when the guard knows that the session's process is dead, by EndSessionParts::clock.
  /// Unset: the guard did not wait for the death, so nobody knows how long the process has been
  /// dead. Each copy of the transaction says how long ago this time was when the copy was sent
  /// (DeathFact::detect).
  std::optional<TimePoint> known_since = {};
};

enum class SessionFound {
  kHeld,     ///< the session held its member key until now
  kGone,     ///< the session had ended before, or had no member key, or its lease was left alone
  kRevoked,  ///< not known: the transaction was denied or its outcome is unknown, and the lease
             ///< was revoked
};
/// Returns at once. `done` is called once, on the executor, unless the executor ends before.
/// kUnavailable: etcd denies the transaction, and also denies a later step (role, credentials) or
/// shows that the lease holds other keys. Then the lease runs out by itself. REQUIRES: the process
/// of the session is dead; called from a function that runs on the executor; what `parts` refers to
/// outlives the call of `done`.
void EndSession(const EndSessionParts& parts, etcd::Keyspace keyspace, const DeadSession& dead,
                std::function<void(Result<SessionFound>)> done);

}  // namespace baton::runtime
