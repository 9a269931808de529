// Subprocess: a child process, started with posix_spawn. (fork is not safe beside gRPC's threads.)
//
// Only one thread at a time may use a Subprocess. The child starts with no signal blocked, and with
// default handlers. Without SubprocessOptions::input, its input is empty. The child inherits each
// descriptor of this process that lacks FD_CLOEXEC. The child has a process group of its own. So
// Ctrl-C in a terminal does not reach the child, and the process that started the child decides
// when it ends.
//
// REQUIRES (not checked): while a Subprocess lives, no other code reaps its child.
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
  int code = 0;    ///< the exit code, if signal is 0; -1: not known, because other code reaped it
  int signal = 0;  ///< the signal that killed the child; 0: the child exited by itself
  bool success() const { return code == 0 && signal == 0; }
};

/// Returns words such as "exit code 1" or "signal 9".
std::string ToString(const ExitStatus& status);

enum class ChildLifetime {
  /// The destructor kills the child. If the owner's process is killed, the child goes on.
  kOwned,
  /// As kOwned. In addition, the kernel kills the child when the *thread* that started it ends, for
  /// any reason. So start the child from a thread that lives long enough, usually main. This needs
  /// util-linux's setpriv; without setpriv, it is the same as kOwned.
  kDiesWithStartingThread,
  /// The destructor leaves the child alone. The child has a session of its own.
  kOutlivesOwner,
};

struct SubprocessOptions {
  /// The program and its arguments. A program without '/' is looked up on PATH. REQUIRES (checked):
  /// not empty.
  std::vector<std::string> arguments = {};
  /// "NAME=value" texts. They are added to this process's environment, or replace its values.
  std::vector<std::string> environment = {};
  /// stdout and stderr of the child are appended to this file; empty: they go to /dev/null.
  std::string output_path = {};
  /// The child uses this process's stdout and stderr; `output_path` is ignored.
  bool inherits_output = false;
  ChildLifetime lifetime = ChildLifetime::kOwned;
  // The child gets copies of these two descriptors. The caller goes on owning the originals.
  // REQUIRES (not checked): `passed` is not 0, 1 or 2.
  int input = -1;   ///< becomes the child's stdin; below 0: /dev/null
  int passed = -1;  ///< becomes the child's descriptor 3; below 0: none
};

class Subprocess {
 public:
  /// Starts the program. kNotFound: there is no such program, or this process may not execute it.
  /// kInternal: the system refuses, for example because `output_path` can't be opened.
  static Result<std::unique_ptr<Subprocess>> Start(const SubprocessOptions& options);

  /// Calls Kill, unless Release was called or the lifetime is kOutlivesOwner. In these two cases
  /// the child may go on, and this object does not reap it. Never kills processes that the child
  /// started.
  ~Subprocess();
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;

  pid_t pid() const { return pid_; }

  /// Sends a signal to the child alone, not to its process group. Does nothing once this object has
  /// reaped the child, because another process may have the id by then.
  void Signal(int signal);

  /// Sends SIGSTOP, and waits until the child has stopped or ended: its threads may run for a
  /// moment after the signal. False: after a minute, the child still runs, for example because a
  /// disk holds it up.
  bool Freeze();

  /// If the child has ended, reaps it, and returns how it ended (also if called again). nullopt:
  /// the child still runs. Does not wait.
  std::optional<ExitStatus> Poll();

  /// Waits until the child has ended, reaps it, and returns how it ended. nullopt: the child still
  /// runs at `deadline`. May notice the end 20 ms late.
  std::optional<ExitStatus> Wait(TimePoint deadline);

  /// Sends SIGKILL, and waits without a bound until the child has ended. Returns at once if this
  /// object has reaped the child before.
  ExitStatus Kill();

  /// Makes the destructor leave the child alone. The other functions still act on the child.
  /// REQUIRES (not checked): the lifetime is not kDiesWithStartingThread. (The kernel would kill
  /// the child all the same.)
  void Release() { released_ = true; }

 private:
  Subprocess(pid_t pid, bool released) : pid_(pid), released_(released) {}

  const pid_t pid_;
  std::optional<ExitStatus> status_;  ///< set once reaped
  bool released_;
};

/// Returns the path of an executable: `name` itself if it has a '/', otherwise the first file of
/// this name on PATH. If PATH is not set, /usr/local/bin:/usr/bin:/bin counts. kNotFound: there is
/// no such file, or this process may not execute it.
Result<std::string> FindProgram(const std::string& name);
/// Like FindProgram, for programs of ours and programs that we need ourselves. Ignores the relative
/// folders of PATH. So nobody who can write to the current folder chooses the program.
Result<std::string> FindHelper(const std::string& name);

/// Runs a program until it ends, and returns how it ended. A program that fails is no error here.
/// kTimedOut: the program still ran at `deadline`. Then it is killed, and the call waits for its
/// end without a bound. With kOutlivesOwner it is not killed, and the call does not wait. Other
/// errors: those of Start.
Result<ExitStatus> RunProgram(const SubprocessOptions& options, TimePoint deadline);

}  // namespace baton
