#include "app/signals.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <thread>
#include <utility>

#include "base/last_words.h"

namespace baton::app {

void HandleSignals(SignalHandlers handlers) {
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a file at its limit is an error of write, as a full disk is
  signal(SIGCHLD, SIG_DFL);  // ignored, as it may be inherited, children could not be waited for
  sigset_t watched;
  sigemptyset(&watched);
  sigaddset(&watched, SIGTERM);
  sigaddset(&watched, SIGINT);
  if (handlers.others) {
    for (const int other : {SIGHUP, SIGUSR1, SIGUSR2}) sigaddset(&watched, other);
  }
  pthread_sigmask(SIG_BLOCK, &watched, nullptr);  // and in every thread that is started later
  std::thread([watched, handlers = std::move(handlers)] {
    const auto next_end = [&] {
      int received = 0;
      while (sigwait(&watched, &received) != 0 || (received != SIGTERM && received != SIGINT)) {
        handlers.others(received);
      }
      return received;
    };
    handlers.first(next_end());
    next_end();
    if (handlers.second) handlers.second();
    LastWords("batond: second signal, exiting at once");
    _exit(1);
  }).detach();
}

}  // namespace baton::app
