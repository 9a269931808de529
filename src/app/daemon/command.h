// Command: the program that `batond run` starts, in a process group of its own, and its end.
//
// Thread-safe. Start it on a thread that outlives it: the kernel kills the program when that thread
// ends, provided that util-linux's setpriv is installed. So a killed batond leaves no program
// behind that would never hear of its shards again.
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
  /// Called with how the program ended, after the rest of its process group was killed. Must not
  /// call Wait or destroy the Command: both wait until it has returned.
  using OnEnd = std::function<void(const ExitStatus& status)>;

  /// Starts the program with BATON_ATTACH=`sidecar` in its environment, and with the environment
  /// and the limit on core dumps that this process had before GuardProcess. `on_end` is called
  /// once, on a thread of its own. Errors: those of Subprocess::Start.
  static Result<std::unique_ptr<Command>> Start(const std::vector<std::string>& arguments,
                                                const std::string& sidecar, OnEnd on_end);
  /// Kills what is left of the process group, and waits for the program's end and for `on_end`,
  /// without a bound. A process that has left the group is not killed, here and in Kill.
  ~Command();
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  pid_t pid() const { return pid_; }
  /// Sends a signal to the program alone, not to its group. Does nothing once it has ended.
  void Signal(int signal);
  /// Sends SIGKILL to the process group.
  void Kill();
  /// Waits for the program's end and for `on_end`, without a bound.
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

/// The exit code as a shell shows it: the program's code, or 128 plus the signal's number.
int ExitCode(const ExitStatus& status);

/// Holds the program of `batond run`. Thread-safe: the signals' thread uses it too.
class RunningCommand {
 public:
  /// Destroys the one before, which kills and awaits it. Null: there is none any more.
  void Set(std::unique_ptr<Command> command) {
    std::unique_ptr<Command> before;  // destroyed after the lock: that may take a while
    const std::lock_guard lock(mutex_);
    before = std::exchange(command_, std::move(command));
  }
  /// Null: there is none. Valid until the next Set, or this object's end.
  Command* Get() {
    const std::lock_guard lock(mutex_);
    return command_.get();
  }
  /// As Command has them; nothing if there is none.
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
