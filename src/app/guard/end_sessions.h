// EndSessions: ends the sessions of a dead node with any of the credentials that the node had.
//
// EndSessions begins with the newest credentials, and in most cases needs no others. As soon as one
// call with the newest credentials fails, EndSessions also begins with all other credentials,
// because etcd may not accept the newest ones yet. (This does no harm if the call failed only
// because an endpoint is away.) A session is done as soon as the calls with any of the credentials
// have ended it. The writes are guarded. So calls with different credentials may write the same.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <vector>

#include "base/clock.h"
#include "baton/options.h"
#include "runtime/guard/await_death.h"

namespace baton::app {

/// If EndSessions is asked to end, it stops this long after it began. Usually it needs only
/// milliseconds.
inline constexpr std::chrono::seconds kGraceAfterDeath{2};
/// How often EndSessions checks whether it is asked to end.
inline constexpr std::chrono::milliseconds kLookAtSignals{100};

struct SessionsToEnd {
  runtime::Death death;
  EtcdOptions etcd;  ///< password and PEM texts are not used: see `credentials`
  /// The node's credentials, the newest first. REQUIRES (checked): not empty.
  std::vector<EtcdCredentials> credentials = {};
  /// Returns the given pause with jitter. Empty: see runtime::EndSessionParts.
  std::function<Duration(Duration)> jitter = {};
};

/// Blocks until each session has ended or can't be ended. For each session, logs which of the two
/// is true. Returns whether all sessions have ended; true if there are no sessions. Gives up 10
/// minutes after it began. If `asked_to_end` is true, gives up kGraceAfterDeath after it began, or
/// at once if this time has passed already. If there are several credentials and ending a session
/// with one of them fails, tries these credentials once more after 200 ms, because etcd may have
/// got them just then.
bool EndSessions(const SessionsToEnd& work, const std::atomic<bool>& asked_to_end);

}  // namespace baton::app
