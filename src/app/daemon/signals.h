// Signals: the first SIGTERM or SIGINT asks for an orderly end, the second ends the process at
// once. Other signals can be passed on.
#pragma once

#include <functional>

namespace baton::app {

struct SignalHandlers {
  /// Called at the first SIGTERM or SIGINT, with its number.
  std::function<void(int signal)> first;
  /// Called at the second one, right before the process ends with exit code 1. May be empty.
  std::function<void()> second = {};
  /// Called at each SIGHUP, SIGUSR1 and SIGUSR2. Empty: these have their default effects.
  std::function<void(int signal)> others = {};
};

/// Installs the handlers, which are called on a thread of their own. SIGPIPE and SIGXFSZ are
/// ignored; SIGCHLD is not, even if the process inherited that.
/// REQUIRES: called once, before the process has other threads.
void HandleSignals(SignalHandlers handlers);

}  // namespace baton::app
