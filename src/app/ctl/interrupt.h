// Interrupt: a flag that Ctrl-C and SIGTERM set, and output that nobody reads any more (SIGPIPE).
// batonctl then stops waiting, and the operation goes on in the group.
//
// Process-wide. Call Install once, before threads start; the other functions from any thread.
#pragma once

#include <chrono>

namespace baton::app {

class Interrupt {
 public:
  static void Install();
  static bool Happened();
  /// Sets the flag as the signal does: calls in flight end.
  static void Raise();
  /// Sleeps. Returns false at once when the flag is set.
  static bool Sleep(std::chrono::milliseconds duration);
};

}  // namespace baton::app
