// baton-guard: waits until a node's process is dead, and then ends the node's sessions in etcd. So
// other nodes can lead the shards at once, and need not wait until the lease has run out.
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
/// (RecentCredentials::Combinations). `page` shows the node's progress. Null: the node passed no
/// page, so the guard can't watch for a hang.
///
/// If the first line of `input` has no valid settings, returns the exit code 1. Otherwise this
/// function does not return. It ends the process with one of these codes:
///  - 0: the node is dead, and its sessions are ended or it left no session.
///  - 0: the state directory can't prove a death; the log says why.
///  - 0: `input` has ended or had a line that is not valid, and 10 s later another process still
///    holds the lock of the state directory. This may be the node.
///  - 1: a session can't be ended, or is not ended within 10 minutes after the death. After
///    SIGTERM, SIGINT or SIGHUP, the bound is 2 s instead of 10 minutes.
///  - 1: the state directory belongs to another node.
/// SIGTERM, SIGINT and SIGHUP have no other effect, so the guard stays while the node lives. If the
/// first settings have a hang timeout, the guard kills the node when the node makes no progress for
/// this time. If the guard can't watch for a hang, it logs a warning.
int GuardParent(int input, std::unique_ptr<runtime::ProgressPage> page);

struct SharedGuard {
  std::vector<std::string> state_dirs = {};
  runtime::LockTrust trust = runtime::LockTrust::kKnownFileSystems;
  /// Returns how to reach etcd now. Reads the files with credentials again. It is called for each
  /// death, and again for each new try, on several threads at once. REQUIRES: not empty (checked);
  /// thread-safe (not checked).
  std::function<Result<EtcdOptions>()> etcd = {};
};
/// Guards the nodes of these state directories, on one thread for each directory. The nodes may run
/// already, or start later. Says READY=1 to the service manager at once. If a session can't be
/// ended, or etcd's settings can't be read, logs the error and tries again. The pause is some 0.3 s
/// at first, and grows to 1 min. For each directory, the guard acts at most ten times a minute;
/// then it waits. Runs until SIGTERM or SIGINT comes. If it is ending the sessions of a dead node
/// then, it goes on for some 2 s at most. Then it ends this process with code 0, so it never
/// returns. REQUIRES: `state_dirs` is not empty, and `etcd` is set (both checked); this process has
/// one thread (not checked).
int GuardNodes(const SharedGuard& guard);

}  // namespace baton::app
