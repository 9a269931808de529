// Ctrl-C and SIGTERM as a flag that waiting notices: the watching ends, the work goes on.
//
// Process-wide. Install once, before threads start; the others from any thread.
#pragma once

#include <chrono>

namespace baton::app {

class Interrupt {
 public:
  static void Install();
  static bool Happened();
  /// As if the signal had come: ends calls under way.
  static void Raise();
  /// Sleeps; false as soon as it happens.
  static bool Sleep(std::chrono::milliseconds duration);
};

}  // namespace baton::app
