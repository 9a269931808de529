// EndSessions: ends the sessions of a dead node with any of the credentials that the node had.
//
// It begins with the newest ones, and needs no others in the ordinary case. If a call with them
// does not succeed, it begins with all others, too, at once: etcd may not accept the newest ones
// yet, or an endpoint is away and only time can tell. The first to end a session has ended it. The
// writes are guarded, so it does no harm if two of them do the same. Whether a member of etcd
// accepts a certificate says nothing of the rights of its user, so no success of a handshake
// counts.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <vector>

#include "base/clock.h"
#include "baton/options.h"
#include "runtime/guard/await_death.h"

namespace baton::app {

/// How long EndSessions still works for a node that is dead after it was asked to end: mostly it
/// needs milliseconds.
inline constexpr std::chrono::seconds kGraceAfterDeath{2};
/// How often EndSessions looks whether it is asked to end.
inline constexpr std::chrono::milliseconds kLookAtSignals{100};

struct SessionsToEnd {
  runtime::Death death;
  EtcdOptions etcd;  ///< but its credentials are the next
  /// The newest first. REQUIRES (checked): not empty.
  std::vector<EtcdCredentials> credentials = {};
  /// A given pause with jitter (runtime::EndSessionParts).
  std::function<Duration(Duration)> jitter = {};
};

/// Blocks until each session has ended, or can't be ended, and logs which of these it is. Gives up
/// after 10 minutes; if `asked_to_end` is true or becomes true, 2 s after it began. False: not all
/// were ended. If there are several credentials, those that etcd denies something are tried once
/// more, because etcd may have got them just then.
bool EndSessions(const SessionsToEnd& work, const std::atomic<bool>& asked_to_end);

}  // namespace baton::app
