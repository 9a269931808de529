// How batond's node or relay ended.
#pragma once

#include <chrono>
#include <optional>

#include "app/daemon/daemon_options.h"
#include "base/subprocess.h"
#include "baton/result.h"

namespace baton::app {

struct NodeEnd {
  bool relay = false;
  bool halted = false;                     ///< then the node or relay has logged why
  std::optional<Error> failure;            ///< of the drain, or why it halted; nullopt: drained
  std::optional<ExitStatus> program = {};  ///< how the program of `batond run` ended; may be unset
};

/// Logs how the node or relay ended, unless it halted. Returns batond's exit code, by the first of
/// these that applies:
///  - 1: it halted, even if that was after its drain.
///  - With a program: the program's (ExitCode).
///  - 0: there is no failure, or it is kTimedOut.
///  - 1: any other failure.
int ConcludeEnd(const NodeEnd& end);

/// How long an orderly end of batond may take with these options. (The program of `batond run` is
/// waited for without a bound.)
std::chrono::milliseconds LongestEnd(const DaemonOptions& options);

}  // namespace baton::app
