// Runs `top`, the live view of a group. A thread of its own asks the node for its status, with
// pauses of 500 ms. The frames (top_frame.h) are painted with ncurses.
#pragma once

#include "app/ctl/ctl.h"

namespace baton::app {

/// Runs the view until the user types q (kDone), or until Ctrl-C or SIGTERM comes (kInterrupted).
/// If a call fails, the view shows the error and goes on. kUsage: stdout or stdin is no terminal,
/// TERM is unknown, or a flag or file can't be used. A call may take 3 s; CtlOptions::timeout has
/// no effect. If the view was shown, RunTop calls Interrupt::Raise at its end, so no later verb of
/// this process can wait. One thread.
ExitCode RunTop(const CtlOptions& options);

}  // namespace baton::app
