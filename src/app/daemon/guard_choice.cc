#include "app/daemon/guard_choice.h"

#include "app/common/guard_program.h"
#include "base/log.h"
#include "base/subprocess.h"

namespace baton::app {

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
