// Interrupt: a flag that Ctrl-C, SIGTERM and SIGPIPE set; SIGPIPE means that nobody reads the
// output any more. Once the flag is set, batonctl stops waiting. An operation that it has started
// is not undone: the group carries it out. The flag is never reset, and a further signal does not
// end the process either. In the thread that takes it, each signal also ends a waiting system call
// early (EINTR), and so a read of stdin.
//
// One flag for the process. Call Install once, before threads start. The other functions can be
// called from any thread.
#pragma once

#include <chrono>

namespace baton::app {

class Interrupt {
 public:
  /// Sets the signals' handlers. Aborts the process if the system gives no pipe.
  static void Install();
  static bool Happened();
  /// Sets the flag as a signal does: every Sleep ends, and so does every call of an AdminClient.
  static void Raise();
  /// Sleeps for this time. If the flag is set or gets set, returns false at once; otherwise true.
  /// Another signal that the process handles (SIGWINCH, for example) may end the sleep early; then
  /// the result is true. REQUIRES (not checked): 0 <= duration <= INT_MAX ms; Install was called
  /// (otherwise neither a signal nor Raise ends the sleep).
  static bool Sleep(std::chrono::milliseconds duration);
};

}  // namespace baton::app
