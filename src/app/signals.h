// Signals: SIGTERM and SIGINT as an orderly end, then as an end at once; others to be passed on.
#pragma once

#include <functional>

namespace baton::app {

struct SignalHandlers {
  /// At the first SIGTERM or SIGINT, with its number.
  std::function<void(int signal)> first;
  /// At the second, right before the process ends with exit code 1, whatever it is doing. May be
  /// empty.
  std::function<void()> second = {};
  /// At each SIGHUP, SIGUSR1 and SIGUSR2. Empty: these do what they do by default.
  std::function<void(int signal)> others = {};
};

/// Calls the handlers on a thread of its own. SIGPIPE is ignored, SIGCHLD is not.
/// REQUIRES: called once, before the process has other threads.
void HandleSignals(SignalHandlers handlers);

}  // namespace baton::app
