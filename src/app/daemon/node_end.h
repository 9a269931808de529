// How batond's node or relay ended.
#pragma once

#include <optional>

#include "base/subprocess.h"
#include "baton/result.h"

namespace baton::app {

struct NodeEnd {
  bool relay = false;
  bool halted = false;                     ///< then it has logged why
  std::optional<Error> failure;            ///< of the drain, or why it halted
  std::optional<ExitStatus> program = {};  ///< of `batond run`
};

/// Logs how it ended, unless it halted, and returns the exit code of batond.
int ConcludeEnd(const NodeEnd& end);

}  // namespace baton::app
