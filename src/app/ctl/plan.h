// batonctl's verb `plan`: plans for a made-up state; asks and changes no group. Blocking; one
// thread.
#pragma once

#include <string>

#include "app/ctl/ctl.h"

namespace baton::app {

/// Reads the state from a file, or from stdin if `path` is "-". Prints the plan (plan_state.h) as
/// JSON, also if the format is a table. kUsage: the file can't be read, or the state is wrong.
ExitCode PlanFile(const CtlOptions& options, const std::string& path);

}  // namespace baton::app
