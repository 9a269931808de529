// Says how batond's node or relay ended.
#pragma once

#include <chrono>
#include <optional>

#include "app/daemon/daemon_options.h"
#include "base/subprocess.h"
#include "baton/result.h"

namespace baton::app {

struct NodeEnd {
  bool relay = false;
  bool halted = false;           ///< the node or relay has halted, and has logged why
  std::optional<Error> failure;  ///< why the drain failed, or why it halted; nullopt: drained
  std::optional<ExitStatus> program = {};  ///< how the program of `batond run` ended, if one ran
};

/// Logs how the node or relay ended, unless it halted. Returns batond's exit code by the first of
/// these that applies:
///  - 1: the node or relay halted, even after its drain.
///  - ExitCode(*program): a program ran.
///  - 0: there is no failure, or the failure is kTimedOut.
///  - 1: there is another failure.
int ConcludeEnd(const NodeEnd& end);

/// Returns how long an orderly end of batond may take with these options. This does not include the
/// wait for the program of `batond run`, which has no bound.
std::chrono::milliseconds LongestEnd(const DaemonOptions& options);

}  // namespace baton::app
