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
/// (runtime/guard/guard_settings.h), again when they change. `page`: the node's progress; null: the
/// node passed none, so the guard can't watch for a hang.
///
/// If `input` has no settings, returns the exit code. Otherwise this function ends the process:
///  - with code 0 after the node is dead and its sessions are ended, or if the state directory
///    proves no death;
///  - with code 0 if another process still holds the lock 10 s after the node has closed `input`;
///  - with code 1 if a session could not be ended within 10 minutes after the death (within 2 s, if
///    SIGTERM, SIGINT or SIGHUP has come), or if the state directory belongs to another node.
/// While the node lives, SIGTERM, SIGINT and SIGHUP have no effect. If the settings have a hang
/// timeout, the guard kills a node that makes no progress in this time.
int GuardParent(int input, std::unique_ptr<runtime::ProgressPage> page);

struct SharedGuard {
  std::vector<std::string> state_dirs = {};
  runtime::LockTrust trust = runtime::LockTrust::kKnownFileSystems;
  /// Returns how to reach etcd now, and reads files with credentials again. It is called for each
  /// death, on several threads at once. REQUIRES: not empty; thread-safe.
  std::function<Result<EtcdOptions>()> etcd = {};
};
/// Guards the nodes of these state directories, one thread for each, whether they run now or start
/// later. If a session can't be ended, logs the error and tries again, after 200 ms to 1 min. Runs
/// until SIGTERM or SIGINT comes, and then ends this process with code 0. If it is ending the
/// sessions of a dead node at that moment, it goes on for 2 s at most. REQUIRES: `state_dirs` is
/// not empty; this process has one thread.
int GuardNodes(const SharedGuard& guard);

}  // namespace baton::app
