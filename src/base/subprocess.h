// Subprocess: a child process, started with posix_spawn. It never uses fork, which is not safe in a
// process with gRPC's threads.
//
// Baton starts these processes with it: the program of `batond run`, a node's guard, the etcd
// members of tests, the demo and benches, and helper programs. Only one thread at a time may use an
// object. The child starts with no signal blocked, and with default handlers. Its input is empty
// unless SubprocessOptions::input is given. It inherits each descriptor of this process that lacks
// FD_CLOEXEC. The child has a process group of its own. So Ctrl-C in a terminal reaches only the
// process that started the child, and this process decides when the child ends.
//
// REQUIRES (not checked): no other code reaps the child, for example by a wait for any child.
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
  int code = 0;    ///< its exit code, if signal is 0; -1: not known, because other code reaped it
  int signal = 0;  ///< the signal that killed it; 0: it exited by itself
  bool success() const { return code == 0 && signal == 0; }
};

/// Returns words such as "exit code 1" or "signal 9".
std::string ToString(const ExitStatus& status);

enum class ChildLifetime {
  /// The destructor kills the child. The child goes on if its owner's process is killed.
  kOwned,
  /// As kOwned. In addition, the kernel kills the child when the *thread* that started it ends, for
  /// any reason. So start it from a thread that lives long enough, usually main. This needs
  /// util-linux's setpriv; without that program, it is the same as kOwned.
  kDiesWithStartingThread,
  /// The destructor leaves the child alone. The child has a session of its own.
  kOutlivesOwner,
};

struct SubprocessOptions {
  /// The program (looked up on PATH if it has no '/') and its arguments. REQUIRES (checked): not
  /// empty.
  std::vector<std::string> arguments = {};
  /// "NAME=value" texts, which are added to this process's environment or replace its values.
  std::vector<std::string> environment = {};
  /// stdout and stderr are appended to this file. Empty: they go to /dev/null.
  std::string output_path = {};
  /// The child uses this process's stdout and stderr; `output_path` is ignored.
  bool inherits_output = false;
  ChildLifetime lifetime = ChildLifetime::kOwned;
  // The child gets copies of these two descriptors. The caller goes on owning them.
  int input = -1;   ///< becomes the child's stdin; below 0: /dev/null
  int passed = -1;  ///< becomes the child's descriptor 3; below 0: none. REQUIRES: not 0, 1 or 2
};

class Subprocess {
 public:
  /// Starts the program. kNotFound: there is no such program. kInternal: the system refuses, for
  /// example because `output_path` can't be opened.
  static Result<std::unique_ptr<Subprocess>> Start(const SubprocessOptions& options);

  /// Calls Kill, unless the child was released or is kOutlivesOwner. If such a child still runs
  /// then, it is not reaped before this process ends. Processes that the child started are not
  /// killed.
  ~Subprocess();
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;

  pid_t pid() const { return pid_; }

  /// Sends a signal to the child alone, not to its process group. Does nothing after this object
  /// has reaped the child, because the id may belong to another process then.
  void Signal(int signal);

  /// Sends SIGSTOP and waits until the child has stopped or ended, because its threads may run for
  /// a moment after the signal. False: the child still runs after a minute, for example because a
  /// disk holds it up.
  bool Freeze();

  /// Returns how the child ended, and reaps it; nullopt: it still runs. Does not wait.
  std::optional<ExitStatus> Poll();

  /// Waits for the child's end and reaps it; nullopt: it still runs at `deadline`. May notice the
  /// end 20 ms late.
  std::optional<ExitStatus> Wait(TimePoint deadline);

  /// Sends SIGKILL, then waits for the child's end without a bound. Returns at once if the child
  /// was reaped before.
  ExitStatus Kill();

  /// Makes the destructor leave the child alone. The other functions still act on the child.
  /// REQUIRES (not checked): ChildLifetime::kOwned; with kDiesWithStartingThread the kernel kills
  /// the child all the same.
  void Release() { released_ = true; }

 private:
  Subprocess(pid_t pid, bool released) : pid_(pid), released_(released) {}

  const pid_t pid_;
  std::optional<ExitStatus> status_;  ///< set once reaped
  bool released_;
};

/// Returns the path of an executable: `name` itself if it has a '/', otherwise the first one of
/// this name on PATH (/usr/local/bin:/usr/bin:/bin if PATH is not set). kNotFound: there is no such
/// file, or this process may not execute it.
Result<std::string> FindProgram(const std::string& name);
/// The same for a program of ours, or one that we need ourselves, but ignores the relative folders
/// of PATH. So nobody who can write to the current folder chooses what runs.
Result<std::string> FindHelper(const std::string& name);

/// Runs a program to its end, and returns how it ended. A program that fails is no error here.
/// kTimedOut: it still ran at `deadline`, and was killed (unless it is kOutlivesOwner). Other
/// errors: those of Start. Blocks until the program has ended. After the deadline this is the wait
/// of Subprocess::Kill, which has no bound.
Result<ExitStatus> RunProgram(const SubprocessOptions& options, TimePoint deadline);

}  // namespace baton
