// SIGTERM and SIGINT, as something that main() waits for.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <chrono>

/// Blocks both signals in this thread and in all threads that it starts from then on. So make it
/// first in main(): otherwise a signal ends the program without a handoff.
class StopSignals {
 public:
  StopSignals() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  }

  /// Waits up to `within`. True: one of the signals has arrived.
  bool Arrive(std::chrono::milliseconds within) {
    const timespec wait{within.count() / 1000, within.count() % 1000 * 1'000'000};
    return sigtimedwait(&signals_, nullptr, &wait) > 0;
  }

 private:
  sigset_t signals_;
};
