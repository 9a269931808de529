// OwnGuard: a node's own guard. The guard is a process that outlives the node, and ends the node's
// session when the node's process dies.
//
// A thread of this object starts the guard and passes the settings to it. Once the node's lock is
// free, the guard ends the node's session, and exits. If the guard exits earlier, the thread logs a
// warning and starts another guard after a pause. The pause doubles from 1 s to 1 min. After a
// guard that lived for more than a minute, the pause is 1 s again.
//
// The guard is in a terminal session of its own, so Ctrl-C does not reach it. It writes to this
// process's stdout and stderr, and keeps both open after this process has died. So if stdout or
// stderr is a pipe, the pipe's reader sees the end only when the guard has exited. baton-guard
// closes all other descriptors that it inherits.
//
// Thread-safe, except for the destructor.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/clock.h"
#include "baton/result.h"
#include "runtime/control.h"
#include "runtime/executor.h"
#include "runtime/guard/guard_settings.h"
#include "runtime/guard/progress_page.h"
#include "runtime/guard/recent_credentials.h"
#include "runtime/node_log.h"

namespace baton::runtime {

class OwnGuard {
 public:
  /// Returns at once; the thread starts the program. If the system refuses to start the program,
  /// the thread logs a warning, and tries again after the same pauses as above. `program`: a path,
  /// or a name for FindHelper (base/subprocess.h). kNotFound: there is no such program, or this
  /// process may not execute it. kInternal: the system gives no descriptor, memory or thread.
  /// REQUIRES: `log` outlives this object.
  ///
  /// The guard waits while any process holds the lock of `settings.state_dir`. Then it ends the
  /// sessions in the lock file (AwaitDeath), if the file is of the group and node in `settings`. So
  /// take the lock before Start. Without the lock, each guard exits at once, and is started again.
  static Result<std::unique_ptr<OwnGuard>> Start(const std::string& program,
                                                 const GuardSettings& settings, NodeLog& log);
  /// Waits up to a second for the guard's exit. A guard that has not exited by then goes on, and
  /// nobody reaps it before this process ends. REQUIRES: the node's lock was released before.
  /// Otherwise the guard gives up if it does not get the lock within 10 s.
  ~OwnGuard();
  OwnGuard(const OwnGuard&) = delete;
  OwnGuard& operator=(const OwnGuard&) = delete;

  /// Passes these credentials to the guard, and to each later guard. Returns at once; the guard
  /// gets the credentials soon. An empty field removes the earlier value. The user's name stays.
  /// Each guard also gets up to three earlier credentials (RecentCredentials), because etcd may not
  /// accept the new ones yet. Does nothing if these credentials are the newest already.
  void SetCredentials(const EtcdCredentials& credentials);

  /// From now on, the loop notes the time of its last turn for the guard, every kProgressEvery
  /// (hang_judge.h). Before this call, the guard expects no progress. Does nothing if
  /// `hang_timeout` is 0. REQUIRES: called once; the loop ends before this object is destroyed.
  void FollowProgress(Executor& loop);
  /// Call it when the loop has ended. From now on, the guard expects no progress.
  void EndProgress() noexcept {
    if (page_ != nullptr) page_->Clear();
  }

  /// Whether a guard runs now, and how many guards were started. A start that the system refused
  /// does not count.
  GuardCounters counters() const { return {.running = running_.load(), .starts = starts_.load()}; }

 private:
  class Run;
  OwnGuard(std::string program, GuardSettings settings, NodeLog& log, int wake,
           std::unique_ptr<ProgressPage> page);
  void Watch();
  void WatchOne(Run& run);
  /// Returns a line (Format) for each of the recent credentials, the newest last.
  std::string Settings();
  void Wake();
  /// Waits for the duration. False: the destructor was called.
  bool Pause(Duration duration);

  const std::string program_;
  NodeLog& log_;
  const int wake_;                            ///< an eventfd
  const std::unique_ptr<ProgressPage> page_;  ///< null: the guard does not watch for hangs
  std::atomic<bool> running_{false};
  std::atomic<std::uint64_t> starts_{0};
  const GuardSettings settings_;  ///< the argument of Start
  std::mutex mutex_;              // guards what follows
  RecentCredentials credentials_;
  bool changed_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace baton::runtime
