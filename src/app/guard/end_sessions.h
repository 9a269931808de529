// EndSessions: ends the sessions of a dead node with any of the credentials that the node had.
//
// It begins with the newest credentials, and mostly needs no others. As soon as one call with them
// fails, it also begins with all others, at once: etcd may not accept the newest ones yet. If only
// an endpoint is away, this does no harm. A session is over as soon as one of them has ended it.
// The writes are guarded, so two of them may do the same. A TLS handshake that succeeds does not
// show which credentials are good, because it says nothing about the rights that the certificate's
// user has in etcd.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <vector>

#include "base/clock.h"
#include "baton/options.h"
#include "runtime/guard/await_death.h"

namespace baton::app {

/// Once EndSessions is asked to end, it works only until this long after it began. Mostly it needs
/// milliseconds.
inline constexpr std::chrono::seconds kGraceAfterDeath{2};
/// How often EndSessions looks whether it is asked to end.
inline constexpr std::chrono::milliseconds kLookAtSignals{100};

struct SessionsToEnd {
  runtime::Death death;
  EtcdOptions etcd;  ///< password and PEM texts are not used: see `credentials`
  /// The newest first. REQUIRES (checked): not empty.
  std::vector<EtcdCredentials> credentials = {};
  /// Returns a given pause with jitter; may be empty (runtime::EndSessionParts).
  std::function<Duration(Duration)> jitter = {};
};

/// Blocks until each session has ended, or can't be ended, and logs which of these it is. Gives up
/// 10 minutes after it began; if `asked_to_end` is or becomes true, 2 s after it began. False: not
/// all were ended. If there are several credentials, and etcd denies something to one of them, that
/// one is tried once more, because etcd may have got it just then.
bool EndSessions(const SessionsToEnd& work, const std::atomic<bool>& asked_to_end);

}  // namespace baton::app
