#include "app/daemon/command.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

#include "app/common/process_guard.h"

namespace baton::app {
namespace {

// Waits for the end without reaping the process: until it is reaped, no other group gets its
// number. False: somebody else has reaped it, so the number may belong to another process.
bool AwaitEnd(pid_t pid) {
  siginfo_t info{};
  while (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) != 0) {
    if (errno != EINTR) return false;
  }
  return true;
}

}  // namespace

int ExitCode(const ExitStatus& status) {
  return status.signal != 0 ? 128 + status.signal : status.code;
}

Result<std::unique_ptr<Command>> Command::Start(const std::vector<std::string>& arguments,
                                                const std::string& sidecar, OnEnd on_end) {
  std::vector<std::string> environment = GuardedEnvironment();
  environment.push_back("BATON_ATTACH=" + sidecar);
  auto process = Subprocess::Start({.arguments = arguments,
                                    .environment = std::move(environment),
                                    .inherits_output = true,
                                    .lifetime = ChildLifetime::kDiesWithStartingThread});
  if (!process) return process.error();
  RestoreLimits(process.value()->pid());
  std::unique_ptr<Command> command(new Command(std::move(process).value()));
  try {
    command->thread_ =
        std::thread([raw = command.get(), on_end = std::move(on_end)] { raw->Watch(on_end); });
  } catch (const std::system_error& error) {
    return Error{ErrorCode::kUnavailable, std::string("the host lacks threads: ") + error.what()};
  }
  return command;
}

Command::~Command() {
  Kill();
  if (thread_.joinable()) thread_.join();  // it is not if Start failed
}

// The program ends first; then the processes that it started are killed.
void Command::Watch(const OnEnd& on_end) {
  const bool unreaped = AwaitEnd(pid_);
  ExitStatus status;
  {
    const std::lock_guard lock(mutex_);
    if (unreaped) kill(-pid_, SIGKILL);
    status = *process_->Wait(TimePoint::max());
    reaped_ = true;
  }
  on_end(status);
  const std::lock_guard lock(mutex_);
  status_ = status;
  changed_.notify_all();
}

void Command::Signal(int signal) {
  const std::lock_guard lock(mutex_);
  process_->Signal(signal);
}

void Command::Kill() {
  const std::lock_guard lock(mutex_);
  if (!reaped_) kill(-pid_, SIGKILL);
}

ExitStatus Command::Wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return status_.has_value(); });
  return *status_;
}

}  // namespace baton::app
