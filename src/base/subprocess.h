// A child process: started with posix_spawn (never fork, so that it is safe beside gRPC's threads),
// watched and ended by its process id.
//
// For etcd members of tests, the demo and benches, and for the helper programs they call. One
// thread at a time may use an object. The child starts with no blocked signals, default handlers
// and nothing on stdin, in a process group of its own, so that Ctrl-C reaches its owner alone and
// the owner decides what ends when. No other code may reap it (no wait for "any child").
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "baton/result.h"

namespace baton {

/// How a process ended.
struct ExitStatus {
  int code = 0;    ///< what it returned; meaningful when signal is 0
  int signal = 0;  ///< what killed it; 0: it exited by itself
  bool success() const { return code == 0 && signal == 0; }
};

/// "exit code 1" or "signal 9".
std::string ToString(const ExitStatus& status);

enum class ChildLifetime {
  /// Ended by this object's destructor; outlives a starter that is killed.
  kOwned,
  /// Also killed by the kernel when the *thread* that starts it ends, in whatever way: start it
  /// from
  /// a thread that lives as long (main, usually). Uses util-linux's setpriv; without it like
  /// kOwned.
  kDiesWithStartingThread,
};

struct SubprocessOptions {
  /// The program (looked up on PATH where it has no '/') and its arguments.
  std::vector<std::string> arguments = {};
  /// "NAME=value", in addition to, or instead of, what this process has.
  std::vector<std::string> environment = {};
  /// stdout and stderr are appended to this file. Empty: they go to /dev/null.
  std::string output_path = {};
  /// stdout and stderr are this process's own; `output_path` counts for nothing then.
  bool inherits_output = false;
  ChildLifetime lifetime = ChildLifetime::kOwned;
};

class Subprocess {
 public:
  /// Starts the program. Errors: kNotFound (no such program), kInternal (the system's refusal).
  static Result<std::unique_ptr<Subprocess>> Start(const SubprocessOptions& options);

  /// Kills the child unless it has ended, and reaps it.
  ~Subprocess();
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;

  pid_t pid() const { return pid_; }

  /// Sends a signal. Nothing happens if the child has been reaped: its id is never used again.
  void Signal(int signal);

  /// SIGSTOP, and waits until it stands still or has ended: its threads may run on for a moment
  /// after the signal was sent. False: it still ran a minute later; a disk may hold it up.
  bool Freeze();

  /// Whether it has ended, without waiting.
  std::optional<ExitStatus> Poll();

  /// Waits for its end; nullopt when it still runs at `deadline`.
  std::optional<ExitStatus> Wait(TimePoint deadline);

  /// SIGKILL, then waits for the end.
  ExitStatus Kill();

  /// Gives the child up: it runs on, and neither this object nor its destructor touches it again.
  /// REQUIRES: started with ChildLifetime::kOwned, else the kernel ends it with its starter.
  void Release() { released_ = true; }

 private:
  explicit Subprocess(pid_t pid) : pid_(pid) {}

  const pid_t pid_;
  std::optional<ExitStatus> status_;  ///< set once reaped
  bool released_ = false;
};

/// The program's path: `name` itself where it has a '/', else the first executable of that name on
/// PATH. Errors: kNotFound.
Result<std::string> FindProgram(const std::string& name);

/// Runs a program to its end, or kills it at `deadline`. Errors: those of Start, kTimedOut.
Result<ExitStatus> RunProgram(const SubprocessOptions& options, TimePoint deadline);

}  // namespace baton
