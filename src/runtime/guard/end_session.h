// EndSession: ends a dead process's session in etcd at once, instead of when its lease runs out.
//
// EndSession takes these steps:
//  1. The transaction. If the session still holds the member key, it deletes this key, and names
//     the death in `died` (base/writes.h, SessionEnd).
//  2. The question, only if the transaction did not prove that the session held the key: which keys
//     have the lease? If another key than the node's member key has it, or etcd refuses to answer,
//     EndSession leaves the lease alone, and ends here. Reason: a forged lock file may name the
//     lease of a living node.
//  3. The revocation of the lease. The dead process may have sent a write that is still under way.
//     Without the lease, this write can't put the member key any more.
//
// Each call to etcd may take 2 s. If the outcome of a call is unknown, EndSession makes the call
// again, after a pause that doubles from 20 ms to 2 s. It does so without a limit, except for the
// transaction. After three unknown outcomes of the transaction, EndSession asks the question. Once
// etcd has answered, it makes the transaction one last time, because etcd may only have been away.
// Then it revokes the lease, whatever the outcome.
//
// If etcd denies the transaction, EndSession goes on to the question, because the role may have the
// rights for the other two steps. If etcd's database is full, the outcome of the transaction is
// unknown, but a lease can be revoked. In these two cases the other nodes may take the death for an
// expired lease.
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
  /// Returns the given pause with jitter, so that the guards of many nodes don't all make their
  /// calls again at the same time. Unset: no jitter.
  std::function<Duration(Duration)> jitter = {};
};

struct DeadSession {
  SessionRef session;
  /// Since when the guard knows that the session's process is dead, by EndSessionParts::clock.
  /// Unset: the guard did not wait for the death, so nobody knows how long the process has been
  /// dead. If it is set, EndSession writes into `died` how much later it made the transaction
  /// (DeathFact::detect).
  std::optional<TimePoint> known_since = {};
};

/// Whether the session still held its member key when EndSession came.
enum class SessionFound {
  kHeld,  ///< it held the key, and has lost it
  kGone,  ///< it had ended before, or had no member key, or its lease was left alone
  /// Not known, in two cases. The transaction was denied, and the lease was revoked. Or the outcome
  /// of the transaction is unknown, and EndSession tried to revoke the lease: the lease was revoked
  /// or had ended, or etcd refused.
  kRevoked,
};
/// Returns at once. Calls `done` once, on the executor. Never calls it if the executor ends before,
/// or if etcd never gives a definite answer. If etcd refuses to revoke the lease, this is an error
/// only if it also denied the transaction. kUnavailable, in these cases:
///  - etcd denies the transaction, because of the role or the credentials, and then also denies the
///    question or the revocation, or shows that another key has the lease.
///  - The outcome of the transaction is unknown, and etcd denies the question.
/// Then the session may end only when its lease runs out. REQUIRES: the process of the session is
/// dead; called from a function that runs on the executor; the objects that `parts` refers to
/// outlive the call of `done`.
void EndSession(const EndSessionParts& parts, etcd::Keyspace keyspace, const DeadSession& dead,
                std::function<void(Result<SessionFound>)> done);

}  // namespace baton::runtime
