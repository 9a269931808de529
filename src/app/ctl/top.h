// `top`: the live view. It asks a node again and again, and paints frames (top_frame.h) with
// ncurses.
#pragma once

#include "app/ctl/ctl.h"

namespace baton::app {

/// Runs the view until the user quits. kUsage if stdout or stdin is not a terminal.
ExitCode RunTop(const CtlOptions& options);

}  // namespace baton::app
