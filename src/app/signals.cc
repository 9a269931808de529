#include "app/signals.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <string_view>
#include <thread>
#include <utility>

namespace baton::app {

void HandleSignals(std::function<void()> first) {
  signal(SIGPIPE, SIG_IGN);
  sigset_t watched;
  sigemptyset(&watched);
  sigaddset(&watched, SIGTERM);
  sigaddset(&watched, SIGINT);
  pthread_sigmask(SIG_BLOCK, &watched, nullptr);  // and in every thread that is started later
  std::thread([watched, first = std::move(first)] {
    int received = 0;
    sigwait(&watched, &received);
    first();
    sigwait(&watched, &received);
    constexpr std::string_view kLine = "batond: second signal, exiting at once\n";
    [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, kLine.data(), kLine.size());
    _exit(1);
  }).detach();
}

}  // namespace baton::app
