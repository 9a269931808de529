#include "runtime/guard/start_own_guard.h"

#include <unistd.h>

#include <filesystem>

#include "runtime/guard/guard_settings.h"

namespace baton::runtime {

Result<std::unique_ptr<OwnGuard>> StartOwnGuard(const NodeOptions& options,
                                                const std::string& why_not, NodeLog& log) {
  if (options.guard == GuardMode::kOff) return std::unique_ptr<OwnGuard>();
  if (!why_not.empty()) {
    log.Warn("no guard acts for this node: " + why_not);
    return std::unique_ptr<OwnGuard>();
  }
  if (options.guard != GuardMode::kOwn) return std::unique_ptr<OwnGuard>();
  if (getpid() == 1) {
    log.Warn(
        "this process is the first one of its container, so its guard dies with it; start it by an "
        "init process, or run a baton-guard in another container, and this node with a shared "
        "guard");
  }
  GuardSettings settings{.group = options.group,
                         .node = options.node,
                         .state_dir = std::filesystem::absolute(options.state_dir).string(),
                         .etcd = options.etcd,
                         .hang_timeout = options.hang_timeout,
                         .process = getpid()};
  if (options.trust_state_lock) settings.trust = LockTrust::kAnyFileSystem;
  return OwnGuard::Start(options.guard_program, settings, log);
}

}  // namespace baton::runtime
