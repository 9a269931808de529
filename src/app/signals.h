// Signals: SIGTERM and SIGINT as an orderly end, then as an end at once.
#pragma once

#include <functional>

namespace baton::app {

/// Calls `first` on a thread of its own at the first SIGTERM or SIGINT; the second ends the process
/// with exit code 1, whatever it is doing. SIGPIPE is ignored.
/// REQUIRES: called once, before the process has other threads.
void HandleSignals(std::function<void()> first);

}  // namespace baton::app
