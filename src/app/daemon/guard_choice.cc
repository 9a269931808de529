#include "app/daemon/guard_choice.h"

#include "app/common/guard_program.h"
#include "base/subprocess.h"

namespace baton::app {

void ChooseGuard(const DaemonOptions& options, NodeOptions& node) {
  node.guard_program = GuardProgram();
  if (!options.guard_by_default) return;
  if (options.sidecar) {
    node.guard = GuardMode::kOff;
  } else if (!FindHelper(node.guard_program)) {
    node.guard_program.clear();
  }
}

bool HasOwnGuard(const DaemonOptions& options) {
  return options.node.guard == GuardMode::kOwn && !options.sidecar &&
         FindHelper(GuardProgram()).ok();
}

}  // namespace baton::app
