// Command: the program that `batond run` starts, in a process group of its own, and its end.
//
// Thread-safe. It must be started on a thread that outlives it, for the program is killed with that
// thread (where util-linux's setpriv is there): a killed batond leaves no program behind that
// nobody tells anything.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/subprocess.h"
#include "baton/result.h"

namespace baton::app {

class Command {
 public:
  /// How it ended. What was left of its process group was killed.
  using OnEnd = std::function<void(const ExitStatus& status)>;

  /// Starts it with BATON_ATTACH in its environment; `on_end` is called once, on a thread of its
  /// own. Errors: those of Subprocess::Start.
  static Result<std::unique_ptr<Command>> Start(const std::vector<std::string>& arguments,
                                                const std::string& sidecar, OnEnd on_end);
  /// Kills what is left of its process group, and waits.
  ~Command();
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  pid_t pid() const { return pid_; }
  /// To the program alone, which passes on what it wants. Nothing happens once it has ended.
  void Signal(int signal);
  /// SIGKILL to its process group.
  void Kill();
  /// Waits for its end, as long as that takes.
  ExitStatus Wait();

 private:
  explicit Command(std::unique_ptr<Subprocess> process)
      : pid_(process->pid()), process_(std::move(process)) {}
  void Watch(const OnEnd& on_end);

  const pid_t pid_;
  std::mutex mutex_;  // guards below
  std::condition_variable changed_;
  std::unique_ptr<Subprocess> process_;
  bool reaped_ = false;  ///< from then on its number may be another's
  std::optional<ExitStatus> status_;
  std::thread thread_;
};

/// As a shell tells it: the code, or 128 and the signal's number.
int ExitCode(const ExitStatus& status);

}  // namespace baton::app
