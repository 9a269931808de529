// Subprocess: a child process, started with posix_spawn (never fork, so that it is safe beside
// gRPC's threads), watched and ended by its process id.
//
// For the program of `batond run`, for a node's guard, for etcd members of tests, the demo and
// benches, and for the helper programs they call. Only one thread at a time may use an object. The
// child starts with no blocked signals, default handlers and, unless it is given input, nothing on
// stdin. It has a process group of its own, so that Ctrl-C reaches only its owner, who decides what
// ends when. No other code may reap it (no wait for "any child").
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
  int code = 0;    ///< its exit code; meaningful if signal is 0
  int signal = 0;  ///< the signal that killed it; 0: it exited by itself
  bool success() const { return code == 0 && signal == 0; }
};

/// "exit code 1" or "signal 9".
std::string ToString(const ExitStatus& status);

enum class ChildLifetime {
  /// The destructor ends it; it outlives an owner that is killed.
  kOwned,
  /// Also killed by the kernel when the *thread* that starts it ends, in whatever way. So start it
  /// from a thread that lives as long (usually main). Uses util-linux's setpriv; without it, like
  /// kOwned.
  kDiesWithStartingThread,
  /// Nobody ends it: it goes on after its owner, in a session of its own.
  kOutlivesOwner,
};

struct SubprocessOptions {
  /// The program (looked up on PATH if it has no '/') and its arguments. REQUIRES: not empty.
  std::vector<std::string> arguments = {};
  /// "NAME=value": added to this process's environment, or replacing its values.
  std::vector<std::string> environment = {};
  /// stdout and stderr are appended to this file. Empty: they go to /dev/null.
  std::string output_path = {};
  /// The child uses this process's stdout and stderr; `output_path` is ignored.
  bool inherits_output = false;
  ChildLifetime lifetime = ChildLifetime::kOwned;
  int input = -1;   ///< the child's stdin; below 0: /dev/null
  int passed = -1;  ///< the child's descriptor 3; below 0: none
};

class Subprocess {
 public:
  /// Starts the program. Errors: kNotFound (no such program), kInternal (the system refused, for
  /// example because `output_path` can't be opened).
  static Result<std::unique_ptr<Subprocess>> Start(const SubprocessOptions& options);

  /// Kills the child unless it has ended, outlives its owner or was released, and reaps it: waits
  /// for its end without a bound. Processes that the child started are not killed.
  ~Subprocess();
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;

  pid_t pid() const { return pid_; }

  /// Sends a signal to the child alone, not to its process group. Does nothing if the child has
  /// been reaped, so its id is never used again.
  void Signal(int signal);

  /// Sends SIGSTOP and waits until the child has stopped or ended: its threads may run for a moment
  /// after the signal. Returns false if it still ran a minute later, for example because a disk
  /// holds it up.
  bool Freeze();

  /// How it ended, or nullopt if it still runs. Does not wait. Code -1: other code has reaped it,
  /// so that is not known.
  std::optional<ExitStatus> Poll();

  /// Waits for its end; nullopt if it still runs at `deadline`.
  std::optional<ExitStatus> Wait(TimePoint deadline);

  /// SIGKILL, then waits for the end, without a bound.
  ExitStatus Kill();

  /// Lets the child run on: the destructor leaves it alone. The other members still act on it.
  /// REQUIRES: started with ChildLifetime::kOwned; otherwise the kernel ends it with its starter.
  void Release() { released_ = true; }

 private:
  Subprocess(pid_t pid, bool released) : pid_(pid), released_(released) {}

  const pid_t pid_;
  std::optional<ExitStatus> status_;  ///< set once reaped
  bool released_;
};

/// The program's path: `name` itself if it has a '/', else the first executable of that name on
/// PATH. Errors: kNotFound.
Result<std::string> FindProgram(const std::string& name);

/// Runs a program to its end, or kills it at `deadline`. Errors: those of Start, and kTimedOut. A
/// program that fails is no error: see the status.
Result<ExitStatus> RunProgram(const SubprocessOptions& options, TimePoint deadline);

}  // namespace baton
