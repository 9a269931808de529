// `top`: the live view. It asks the node for its status every 500 ms, on a thread of its own, and
// paints frames (top_frame.h) with ncurses.
#pragma once

#include "app/ctl/ctl.h"

namespace baton::app {

/// Runs the view until the user types q (kDone), or until Ctrl-C or SIGTERM comes (kInterrupted).
/// If a call fails, shows the error and goes on. kUsage: stdout or stdin is no terminal, TERM is
/// unknown, or a flag or file can't be used. A call may take 3 s; CtlOptions::timeout has no
/// effect. Calls Interrupt::Raise at its end, so no later verb of this process can wait. One
/// thread.
ExitCode RunTop(const CtlOptions& options);

}  // namespace baton::app
