// Command: the program that `batond run` starts, in a process group of its own.
//
// Thread-safe. REQUIRES (not checked): the thread that calls Start lives as long as the program
// should, because the kernel kills the program when that thread ends. So if batond is killed, its
// program does not go on without news about its shards. This needs util-linux's setpriv. On a host
// without setpriv, the program goes on.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/subprocess.h"
#include "baton/result.h"

namespace baton::app {

class Command {
 public:
  /// Called after the program has ended and the rest of its process group was killed. REQUIRES: the
  /// function neither calls Wait nor destroys the Command, because both wait for the function's
  /// return.
  using OnEnd = std::function<void(const ExitStatus& status)>;

  /// Starts the program. Its environment is the present one of this process, plus the variables
  /// that GuardProcess removed, plus BATON_ATTACH=`sidecar`. A moment after the start, it gets the
  /// limits on core dumps and open files that this process had at first (RestoreLimits). It writes
  /// to this process's stdout and stderr, and its stdin is empty. `on_end` is called once, on a
  /// thread of its own, for every kind of end. Errors: those of Subprocess::Start; `on_end` is not
  /// called then. REQUIRES: `arguments` begin with the program, and `on_end` is set.
  static Result<std::unique_ptr<Command>> Start(const std::vector<std::string>& arguments,
                                                const std::string& sidecar, OnEnd on_end);
  /// Calls Kill, and waits without a bound for the program's end and the return of `on_end`.
  ~Command();
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  pid_t pid() const { return pid_; }
  /// Sends a signal to the program alone, not to its group. Does nothing after the program's end.
  void Signal(int signal);
  /// Sends SIGKILL to the process group. A process that has left the group is not killed. Does
  /// nothing once the program has ended and its group was killed.
  void Kill();
  /// Waits without a bound for the program's end and the return of `on_end`. Can be called several
  /// times; each call returns the same.
  ExitStatus Wait();

 private:
  explicit Command(std::unique_ptr<Subprocess> process)
      : pid_(process->pid()), process_(std::move(process)) {}
  void Watch(const OnEnd& on_end);

  const pid_t pid_;
  std::mutex mutex_;  // guards below
  std::condition_variable changed_;
  std::unique_ptr<Subprocess> process_;
  bool reaped_ = false;  ///< its process id may belong to another process now
  std::optional<ExitStatus> status_;
  std::thread thread_;
};

/// The exit code that a shell shows: the program's code, or 128 plus the number of the signal that
/// killed it.
int ExitCode(const ExitStatus& status);

/// Holds the program of `batond run`. Thread-safe: the thread of signals uses it too.
class RunningCommand {
 public:
  /// Replaces the command; null: there is no command any more. Destroys the earlier command, which
  /// kills its program and waits (see ~Command).
  void Set(std::unique_ptr<Command> command) {
    std::unique_ptr<Command> before;  // destroyed after the lock: that may take a while
    const std::lock_guard lock(mutex_);
    before = std::exchange(command_, std::move(command));
  }
  /// Returns null if there is no command. The result is valid until the next Set.
  Command* Get() {
    const std::lock_guard lock(mutex_);
    return command_.get();
  }
  /// Signal and Kill call the command's functions of these names. They do nothing if there is no
  /// command.
  void Signal(int signal) {
    const std::lock_guard lock(mutex_);
    if (command_ != nullptr) command_->Signal(signal);
  }
  void Kill() {
    const std::lock_guard lock(mutex_);
    if (command_ != nullptr) command_->Kill();
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<Command> command_;
};

}  // namespace baton::app
