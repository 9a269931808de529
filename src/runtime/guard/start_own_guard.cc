#include "runtime/guard/start_own_guard.h"

#include <unistd.h>

#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "base/duration_text.h"
#include "runtime/guard/guard_settings.h"

namespace baton::runtime {

namespace {

/// The lease may end first: then others lead the shards, whatever the guard does later.
void CompareWithLease(const NodeOptions& options, NodeLog& log) {
  if (options.hang_timeout.count() == 0 || options.hang_timeout < options.ttl) return;
  log.Warn(
      fmt::format("the hang timeout ({}) is not below the TTL ({}): the lease of a node that "
                  "hangs ends first, so its guard gains nothing; give a shorter hang timeout",
                  FormatDuration(options.hang_timeout), FormatDuration(options.ttl)));
}

}  // namespace

std::string WhyNoGuardActs(const StateLockFound& found, bool external) {
  if (external) return "another process acts on what it leads";
  if (!found.no_guard.empty()) return found.no_guard;
  if (found.never_proof.empty()) return {};
  return "its state directory is on a file system whose locks prove nothing: use a local disk";
}

Result<StartedGuard> StartOwnGuard(const NodeOptions& options, const std::string& why_not,
                                   NodeLog& log) {
  if (options.guard == GuardMode::kOff) return StartedGuard{};
  const bool own = options.guard == GuardMode::kOwn;
  const std::string cannot_act =
      why_not.empty() && own && options.guard_program.empty()
          ? "there is no program baton-guard: install it beside this program or on PATH"
          : why_not;
  if (!cannot_act.empty()) {
    log.Warn("no guard acts for this node: " + cannot_act +
             "; if its process dies, its lease has to run out");
    return StartedGuard{.guard = nullptr, .cannot_act = cannot_act};
  }
  if (!own) return StartedGuard{};
  CompareWithLease(options, log);
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
  auto started = OwnGuard::Start(options.guard_program, settings, log);
  if (!started.ok()) return started.error();
  return StartedGuard{.guard = std::move(started).value(), .cannot_act = {}};
}

}  // namespace baton::runtime
