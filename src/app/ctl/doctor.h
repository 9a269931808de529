// batonctl's verb `doctor`: shows what a node finds when it checks itself, etcd and the group.
#pragma once

#include "app/ctl/ctl.h"

namespace baton::app {

/// kFailed if a finding is a problem.
ExitCode Examine(const CtlOptions& options);

}  // namespace baton::app
