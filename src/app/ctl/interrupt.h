// Interrupt: a flag that Ctrl-C, SIGTERM and SIGPIPE set. SIGPIPE means that nobody reads the
// output any more. Once the flag is set, batonctl stops waiting. An operation that batonctl has
// started goes on in the group. The flag is never reset. A second signal does not end the process.
// A signal may end a system call early (EINTR), for example a read of stdin.
//
// The process has one flag. Call Install once, before threads start. Call the other functions on
// any thread.
#pragma once

#include <chrono>

namespace baton::app {

class Interrupt {
 public:
  /// Installs the handlers of the three signals. Aborts the process if the system gives no pipe.
  static void Install();
  static bool Happened();
  /// Sets the flag, as a signal does. This ends every Sleep, and every call of an AdminClient.
  static void Raise();
  /// Sleeps for this time, and returns true. If the flag is set or gets set, returns false at once.
  /// Another signal that the process handles, such as SIGWINCH, may end the sleep early; the result
  /// is still true. REQUIRES (not checked): 0 <= duration <= INT_MAX ms; Install was called.
  /// Without Install, the flag does not end the sleep.
  static bool Sleep(std::chrono::milliseconds duration);
};

}  // namespace baton::app
