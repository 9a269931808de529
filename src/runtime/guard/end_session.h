// EndSession: ends a dead process's session in etcd at once, before its lease runs out. EndSession
// takes these steps:
//  1. The *transaction*: if the session still holds the node's member key, deletes this key, and
//     names the death in `died` (SessionEnd in base/writes.h).
//  2. The *question*: asks etcd which keys the lease has. EndSession skips this step if the
//     transaction has proven that the session held the key. If the lease has another key than the
//     node's member key, or etcd refuses to answer, EndSession leaves the lease alone and ends
//     here. The reason: a forged lock file may name the lease of a living node.
//  3. The *revocation*: revokes the lease. So a write that the dead process sent late can't create
//     the member key again.
//
// Each call to etcd may take 2 s. If the outcome of a call is unknown, EndSession makes the call
// again, after a pause that doubles from 20 ms to 2 s. The number of calls has no limit, with one
// exception: after three unknown outcomes of the transaction, EndSession asks the question. If the
// lease is the node's, EndSession then makes the transaction one last time. Whatever the outcome,
// the revocation follows.
//
// If etcd denies the transaction, EndSession continues with the question: the role may have the
// rights for the other two steps. If etcd's database is full, the outcome of the transaction is
// unknown, but etcd can revoke the lease. In these two cases, the other nodes may take the death
// for an expired lease.
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
  /// Returns the given pause with jitter. Unset: no jitter.
  std::function<Duration(Duration)> jitter = {};
};

struct DeadSession {
  SessionRef session;
  /// Since when the guard has known that the session's process is dead, by EndSessionParts::clock.
  /// EndSession writes into `died` how much later it made the transaction (DeathFact::detect).
  /// Unset: nobody knows how long the process has been dead.
  std::optional<TimePoint> known_since = {};
};

/// Whether the session still held its member key.
enum class SessionFound {
  kHeld,  ///< the session held the key, and EndSession deleted the key
  kGone,  ///< the session had ended or had no member key, or its lease was left alone
  /// Not known. Either etcd denied the transaction, and the lease was revoked. Or the outcome of
  /// the transaction is unknown, and etcd has answered the revocation, even if etcd refused it.
  kRevoked,
};
/// Returns at once. Calls `done` once, on the executor. If the executor ends before, or etcd never
/// gives a definite answer, never calls `done`. kUnavailable: the session may not end before its
/// lease runs out. There are two cases:
///  - etcd denies the transaction, because of the role or the credentials. In addition, etcd denies
///    the question or the revocation, or the lease has another key.
///  - The outcome of the transaction is unknown, and etcd denies the question.
/// A denied revocation is no error in other cases. REQUIRES: the process of the session is dead;
/// called from a function that runs on the executor; the objects that `parts` refers to outlive the
/// call of `done`.
void EndSession(const EndSessionParts& parts, etcd::Keyspace keyspace, const DeadSession& dead,
                std::function<void(Result<SessionFound>)> done);

}  // namespace baton::runtime
