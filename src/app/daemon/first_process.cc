#include "app/daemon/first_process.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>

#include "app/daemon/command.h"
#include "base/clock.h"
#include "base/last_words.h"
#include "base/subprocess.h"

namespace baton::app {
namespace {

// How long the processes that the node leaves may go on. A guard mostly needs milliseconds; the
// next start of the container has a proof of the death as well.
constexpr std::chrono::seconds kAfterTheNode{2};

std::string ThisProgram() {
  const std::string self = "/proc/self/exe";
  std::error_code failed;
  const auto path = std::filesystem::read_symlink(self, failed);
  return !failed && ::access(path.c_str(), X_OK) == 0 ? path.string() : self;
}

/// Waits for the next of the signals until `deadline`; 0: there was none.
int NextSignal(const sigset_t& signals, TimePoint deadline) {
  if (deadline == TimePoint::max()) {
    const int received = sigwaitinfo(&signals, nullptr);
    return std::max(received, 0);
  }
  const auto left = std::max<Duration>(deadline - BootClock::now(), Duration::zero()).count();
  const timespec wait{.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
  return std::max(sigtimedwait(&signals, nullptr, &wait), 0);
}

/// Reaps every child that has ended. How the node ended, if it is among them.
struct Reaped {
  std::optional<ExitStatus> node;
  bool children_left = true;
};
Reaped Reap(pid_t node) {
  Reaped reaped;
  int status = 0;
  pid_t pid = 0;
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
    if (pid != node || reaped.node) continue;
    reaped.node = WIFSIGNALED(status) ? ExitStatus{.code = 0, .signal = WTERMSIG(status)}
                                      : ExitStatus{.code = WEXITSTATUS(status), .signal = 0};
  }
  reaped.children_left = pid == 0;
  return reaped;
}

}  // namespace

// The kernel drops signals to the first process that nobody waits for; those that are blocked wait.
std::optional<int> RunNodeAsChild(const std::vector<std::string>& arguments) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int each : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) {
    sigaddset(&signals, each);
  }
  sigset_t before;
  sigprocmask(SIG_BLOCK, &signals, &before);
  signal(SIGCHLD, SIG_DFL);  // if it were ignored, which is inherited, nobody could be waited for
  std::vector<std::string> line = arguments;
  line.insert(line.begin(), ThisProgram());
  auto started = Subprocess::Start({.arguments = line, .inherits_output = true});
  if (!started) {
    LastWords("batond: the node can't have a process of its own: " + started.error().message);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    return std::nullopt;
  }
  const pid_t node = started.value()->pid();
  started.value()->Release();  // all children are reaped here
  std::optional<ExitStatus> ended;
  TimePoint deadline = TimePoint::max();
  while (true) {
    const int received = NextSignal(signals, deadline);
    if ((received == SIGTERM || received == SIGINT) && !ended) kill(node, received);
    const Reaped reaped = Reap(node);
    if (reaped.node) {
      ended = reaped.node;
      deadline = BootClock::now() + kAfterTheNode;
    }
    if (ended && (!reaped.children_left || BootClock::now() >= deadline)) return ExitCode(*ended);
  }
}

}  // namespace baton::app
