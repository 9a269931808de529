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
/// (runtime/guard/guard_settings.h), and writes them again when they change. Later settings only
/// replace how to reach etcd. The last four different credentials are kept, because the node may
/// still use earlier ones; end_sessions.h says how they are tried.
/// `page`: the node's progress; null: the node passed no page, so the guard can't watch for a hang.
///
/// If `input` has no valid settings, returns the exit code 1. Otherwise this function does not
/// return; it ends the process:
///  - with code 0 after the node is dead and its sessions are ended, or if the state directory
///    can't prove a death;
///  - with code 0 if `input` has ended, or has brought a line that is not valid, and another
///    process (the node, for example) still holds the lock 10 s later;
///  - with code 1 if a session could not be ended within 10 minutes after the death (within 2 s, if
///    SIGTERM, SIGINT or SIGHUP has come), or if the state directory belongs to another node.
/// SIGTERM, SIGINT and SIGHUP have no other effect, so the guard stays while the node lives. If the
/// first settings have a hang timeout, the guard kills a node that makes no progress in this time.
/// If it can't watch for that, it logs a warning.
int GuardParent(int input, std::unique_ptr<runtime::ProgressPage> page);

struct SharedGuard {
  std::vector<std::string> state_dirs = {};
  runtime::LockTrust trust = runtime::LockTrust::kKnownFileSystems;
  /// Returns how to reach etcd now, and reads files with credentials again. It is called for each
  /// death, and again for each new try, on several threads at once. REQUIRES: not empty;
  /// thread-safe.
  std::function<Result<EtcdOptions>()> etcd = {};
};
/// Guards the nodes of these state directories, one thread for each, whether they run now or start
/// later. Says READY=1 to the service manager at once. If a session can't be ended, logs the error
/// and tries again, after some 0.3 s at first, and later after up to 1 min. Runs until SIGTERM or
/// SIGINT comes, and then ends this process with code 0, so it never returns. If it is ending the
/// sessions of a dead node at that moment, it goes on for 2 s at most. REQUIRES (checked):
/// `state_dirs` is not empty and `etcd` is set. REQUIRES also: this process has one thread.
int GuardNodes(const SharedGuard& guard);

}  // namespace baton::app
