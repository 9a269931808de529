// Handles batond's signals. The first SIGTERM or SIGINT asks for an orderly end. The second ends
// the process at once, and hands no shard over. SIGHUP, SIGUSR1 and SIGUSR2 can be passed on.
#pragma once

#include <functional>

namespace baton::app {

struct SignalHandlers {
  /// Called at the first SIGTERM or SIGINT, with its number. Later signals wait until this call has
  /// returned, so it must not block. REQUIRES (not checked): not empty.
  std::function<void(int signal)> first;
  /// Called at the second SIGTERM or SIGINT, right before the process ends with exit code 1. May be
  /// empty.
  std::function<void()> second = {};
  /// Called at each SIGHUP, SIGUSR1 and SIGUSR2 with its number, until the second SIGTERM or
  /// SIGINT. Empty: these signals have their default effect, which is to kill the process.
  std::function<void(int signal)> others = {};
};

/// Installs the handlers, and calls them one after another on a thread of their own. Makes the
/// process ignore SIGPIPE and SIGXFSZ. Gives SIGCHLD its default effect, because the parent may
/// have ignored SIGCHLD, and a child inherits this. REQUIRES (not checked): called once, before the
/// process has other threads.
void HandleSignals(SignalHandlers handlers);

}  // namespace baton::app
