// batonctl's verb `plan`: divides a made-up state; touches no group.
#pragma once

#include <string>

#include "app/ctl/ctl.h"

namespace baton::app {

/// Reads the state from a file, or from stdin if `path` is "-".
ExitCode PlanFile(const CtlOptions& options, const std::string& path);

}  // namespace baton::app
