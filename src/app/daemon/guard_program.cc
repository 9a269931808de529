#include "app/daemon/guard_program.h"

#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "base/log.h"
#include "base/subprocess.h"

namespace baton::app {
namespace {

std::string GuardProgram() {
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  const auto beside = self.parent_path() / "baton-guard";
  return !failed && ::access(beside.c_str(), X_OK) == 0 ? beside.string() : "baton-guard";
}

}  // namespace

void ChooseGuard(const DaemonOptions& options, NodeOptions& node) {
  node.guard_program = GuardProgram();
  if (!options.guard_by_default) return;
  if (!options.sidecar && FindProgram(node.guard_program)) return;
  if (!options.sidecar) {
    log::Warn(
        "there is no program baton-guard beside batond or on PATH, so no guard acts for this node: "
        "if its process dies, its lease has to run out; install it, or give --guard off");
  }
  node.guard = GuardMode::kOff;
}

bool HasOwnGuard(const DaemonOptions& options) {
  return options.node.guard == GuardMode::kOwn && !options.sidecar &&
         FindProgram(GuardProgram()).ok();
}

}  // namespace baton::app
