// Command: the program that `batond run` starts, in a process group of its own.
//
// Thread-safe. The kernel kills the program when the thread that called Start ends. So if batond is
// killed, the program does not go on without news about its shards. (This needs util-linux's
// setpriv. On a host without setpriv, the program goes on.) REQUIRES (not checked): the thread that
// calls Start lives as long as the program should.
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
  /// function neither calls Wait nor destroys the Command, because both wait for this function.
  using OnEnd = std::function<void(const ExitStatus& status)>;

  /// Starts the program. The program writes to this process's stdout and stderr, and its stdin is
  /// empty. Its environment is this process's present environment, plus the variables that
  /// GuardProcess removed, plus BATON_ATTACH=`sidecar`. A moment after the start, the program gets
  /// the limits on core dumps and open files that this process had at first (RestoreLimits).
  /// `on_end` is called once, on a thread of its own, for every kind of end. Errors: those of
  /// Subprocess::Start; kUnavailable: the host lacks threads, and the program was killed. After an
  /// error, `on_end` is not called. REQUIRES: `arguments` begin with the program, and `on_end` is
  /// set.
  static Result<std::unique_ptr<Command>> Start(const std::vector<std::string>& arguments,
                                                const std::string& sidecar, OnEnd on_end);
  /// Calls Kill. Then waits without a bound until the program has ended and `on_end` has returned.
  ~Command();
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  pid_t pid() const { return pid_; }
  /// Sends a signal to the program, not to its process group. Does nothing after the program's end.
  void Signal(int signal);
  /// Sends SIGKILL to the program's process group. Does not kill a process that has left the group.
  /// Does nothing once the program has ended and its group was killed.
  void Kill();
  /// Waits without a bound until the program has ended and `on_end` has returned. Later calls
  /// return the same.
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

/// Returns the exit code that a shell shows: the program's code, or 128 plus the number of the
/// signal that killed it.
int ExitCode(const ExitStatus& status);

/// Holds the program of `batond run`. Thread-safe.
class RunningCommand {
 public:
  /// Replaces the command; null: from now on, there is no command. Destroys the earlier command,
  /// which kills its program and waits (see ~Command).
  void Set(std::unique_ptr<Command> command) {
    std::unique_ptr<Command> before;  // destroyed after the lock: that may take a while
    const std::lock_guard lock(mutex_);
    before = std::exchange(command_, std::move(command));
  }
  /// Null: there is no command. The result is valid until the next Set.
  Command* Get() {
    const std::lock_guard lock(mutex_);
    return command_.get();
  }
  /// Signal and Kill call the command's functions of the same names. Without a command, they do
  /// nothing.
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
