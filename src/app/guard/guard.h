// baton-guard: waits for the death of a node's process, and then ends the node's sessions in etcd.
// So other nodes can lead the shards at once, and need not wait until the lease has run out.
//
// Both functions block. Call them from main.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "baton/options.h"
#include "baton/result.h"
#include "runtime/guard/await_death.h"
#include "runtime/guard/progress_page.h"

namespace baton::app {

/// Guards the node that started this process. The node writes its settings to `input`
/// (runtime/guard/guard_settings.h), and writes them again when they change. Of later settings,
/// only those for etcd count. The guard keeps the last four different credentials, because the node
/// may still use earlier ones. It tries all combinations of their certificates and passwords
/// (RecentCredentials::Combinations, end_sessions.h).
/// `page`: shows the node's progress. Null: the node passed no page, so the guard can't watch for a
/// hang.
///
/// If the first line of `input` has no valid settings, returns the exit code 1. Otherwise this
/// function does not return. It ends the process:
///  - with code 0 if the node is dead and its sessions are ended, if the node left no session, or
///    if the state directory can't prove a death (the log says why);
///  - with code 0 if `input` has ended or had a line that is not valid, and 10 s later another
///    process (the node, for example) still holds the lock of the state directory;
///  - with code 1 if a session can't be ended, or is not ended within 10 minutes after the death
///    (within 2 s if SIGTERM, SIGINT or SIGHUP has come);
///  - with code 1 if the state directory belongs to another node.
/// SIGTERM, SIGINT and SIGHUP have no other effect, so the guard stays while the node lives. If the
/// first settings have a hang timeout, the guard kills the node when it makes no progress for this
/// time. If the guard can't watch for a hang, it logs a warning.
int GuardParent(int input, std::unique_ptr<runtime::ProgressPage> page);

struct SharedGuard {
  std::vector<std::string> state_dirs = {};
  runtime::LockTrust trust = runtime::LockTrust::kKnownFileSystems;
  /// Returns how to reach etcd now. It reads the files with credentials again. It is called for
  /// each death, and again for each new try, on several threads at once. REQUIRES: not empty
  /// (checked); thread-safe (not checked).
  std::function<Result<EtcdOptions>()> etcd = {};
};
/// Guards the nodes of these state directories, on one thread for each directory. The nodes may run
/// already, or start later. Says READY=1 to the service manager at once. If a session can't be
/// ended, or etcd's settings can't be read, logs the error and tries again, after some 0.3 s at
/// first, and later after up to 1 min. For each directory, it acts ten times a minute at most, and
/// waits if there is more to do.
/// Runs until SIGTERM or SIGINT comes. Then it ends this process with code 0, so it never returns.
/// If it is ending the sessions of a dead node at that moment, it goes on for some 2 s at most.
/// REQUIRES (checked): `state_dirs` is not empty, and `etcd` is set. REQUIRES also (not checked):
/// this process has one thread.
int GuardNodes(const SharedGuard& guard);

}  // namespace baton::app
