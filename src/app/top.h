// `top`: the live view. Asks a node again and again, and paints frames (top_frame.h) with ncurses.
#pragma once

#include "app/ctl.h"

namespace baton::app {

/// REQUIRES nothing: where stdout or stdin is no terminal it says so and answers kUsage.
ExitCode RunTop(const CtlOptions& options);

}  // namespace baton::app
