#include "app/daemon/signals.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <thread>
#include <utility>

#include "base/last_words.h"

namespace baton::app {

void HandleSignals(SignalHandlers handlers) {
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // write then fails at a file's limit, as on a full disk
  signal(SIGCHLD,
         SIG_DFL);  // if it were ignored, which is inherited, waiting for children would fail
  sigset_t watched;
  sigemptyset(&watched);
  sigaddset(&watched, SIGTERM);
  sigaddset(&watched, SIGINT);
  if (handlers.others) {
    for (const int other : {SIGHUP, SIGUSR1, SIGUSR2}) sigaddset(&watched, other);
  }
  pthread_sigmask(SIG_BLOCK, &watched, nullptr);  // also in every later thread
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
