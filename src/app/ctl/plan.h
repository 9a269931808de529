// batonctl's verb `plan`: prints what a group would do in a made-up state. Asks no node and changes
// nothing. Blocking; one thread at a time.
#pragma once

#include <string>

#include "app/ctl/ctl.h"

namespace baton::app {

/// Reads the state from a file, or from stdin if `path` is "-" (ReadInputFile). Prints the plan
/// (plan_state.h), as YAML if the format is kYaml, otherwise as one line of JSON. kUsage: the file
/// can't be read or has more than kMaxPlanBytes, or the state is wrong. kInterrupted: Interrupt
/// came before the end of stdin.
ExitCode PlanFile(const CtlOptions& options, const std::string& path);

}  // namespace baton::app
