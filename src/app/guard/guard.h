// Guard: waits for the death of nodes' processes, and ends their sessions in etcd.
//
// Blocking: each function runs until its work is over.
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

/// The guard of the node that started this process, and that writes its settings to `input`
/// (runtime/guard/guard_settings.h). `page`: the node's progress; null: it passed none. If `input`
/// has no settings, returns the exit code. Otherwise it ends this process once the node is dead and
/// its sessions have ended. It tries for 10 minutes at most, or for 2 s if it gets SIGTERM, SIGINT
/// or SIGHUP; while the node lives, these signals end nothing. It also ends if somebody else still
/// holds the lock 10 s after the node is gone.
int GuardParent(int input, std::unique_ptr<runtime::ProgressPage> page);

struct SharedGuard {
  std::vector<std::string> state_dirs = {};
  runtime::LockTrust trust = runtime::LockTrust::kKnownFileSystems;
  /// How to reach etcd now: files with credentials are read again for each death.
  std::function<Result<EtcdOptions>()> etcd = {};
};
/// Guards the nodes whose state directories these are, whether or not they run now. Never returns.
int GuardNodes(const SharedGuard& guard);

}  // namespace baton::app
