// Interrupt: a flag that Ctrl-C, SIGTERM and SIGPIPE set. SIGPIPE means that nobody reads the
// output any more. Once the flag is set, batonctl stops waiting. An operation that batonctl has
// started is not undone; the group carries it out. The flag is never reset, and a second signal
// does not end the process either. If the thread that takes a signal waits in a system call, the
// signal ends this call early (EINTR). So a signal ends a read of stdin.
//
// One flag for the process. Call Install once, before threads start. The other functions can be
// called from any thread.
#pragma once

#include <chrono>

namespace baton::app {

class Interrupt {
 public:
  /// Installs the handlers of the three signals. Aborts the process if the system gives no pipe.
  static void Install();
  static bool Happened();
  /// Sets the flag, as a signal does. So every Sleep and every call of an AdminClient ends.
  static void Raise();
  /// Sleeps for this time. If the flag is set or gets set, returns false at once; otherwise true.
  /// Another signal that the process handles, such as SIGWINCH, may end the sleep early; the result
  /// is true then. REQUIRES (not checked): 0 <= duration <= INT_MAX ms. REQUIRES also: Install was
  /// called. Without Install, neither a signal nor Raise ends the sleep.
  static bool Sleep(std::chrono::milliseconds duration);
};

}  // namespace baton::app
