#include "app/ctl/interrupt.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include <atomic>
#include <cerrno>
#include <csignal>

#include "base/check.h"

namespace baton::app {
namespace {

std::atomic<bool> happened{false};
int wake_pipe[2] = {-1, -1};  // the handler writes, nobody reads: stays readable

void OnSignal(int) {
  const int saved = errno;
  happened.store(true);
  const char byte = 0;
  [[maybe_unused]] const auto written = write(wake_pipe[1], &byte, 1);
  errno = saved;
}

}  // namespace

void Interrupt::Install() {
  BATON_CHECK(pipe2(wake_pipe, O_CLOEXEC | O_NONBLOCK) == 0);
  struct sigaction action {};
  action.sa_handler = OnSignal;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // Nobody reads the output any more, which is the same as Ctrl-C.
  sigaction(SIGPIPE, &action, nullptr);
}

bool Interrupt::Happened() { return happened.load(); }

void Interrupt::Raise() { OnSignal(SIGINT); }

bool Interrupt::Sleep(std::chrono::milliseconds duration) {
  pollfd readable{wake_pipe[0], POLLIN, 0};
  poll(&readable, 1, static_cast<int>(duration.count()));
  return !Happened();
}

}  // namespace baton::app
