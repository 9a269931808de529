// OwnGuard: a node's own guard. The guard is a process that outlives the node, and ends the node's
// session when the node's process dies.
//
// A thread of this object passes the settings to the guard. If the guard ends, the thread logs a
// warning and starts another one after a pause. The pause doubles from 1 s to 1 min; it is 1 s
// again after a guard that lived for more than a minute. A guard ends by itself once the node's
// lock is free.
//
// The guard has a session of its own, so Ctrl-C in a terminal does not reach it. It holds this
// process's stdout, stderr and each descriptor that is not close-on-exec, also after this process
// has died: a reader of such a pipe sees its end only when the guard ends, too.
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
  /// Returns at once; the thread starts the program. `program`: a path, or a name for FindHelper.
  /// kNotFound: there is no such program, or this process may not execute it. kInternal: the system
  /// gives no descriptor, memory or thread. If the system later refuses to start the program, the
  /// thread logs a warning, and tries again as after a guard that ended at once. While nobody holds
  /// the lock of `settings.state_dir`, guards end at once. While another process holds it, they
  /// wait for the death of that process, and end its session if it is of the same group and node.
  /// REQUIRES: `log` outlives this object.
  static Result<std::unique_ptr<OwnGuard>> Start(const std::string& program,
                                                 const GuardSettings& settings, NodeLog& log);
  /// Waits up to a second for the guard's end. A guard that still works then is left to finish;
  /// nobody reaps it before this process ends. REQUIRES: the node's lock was released before.
  ~OwnGuard();
  OwnGuard(const OwnGuard&) = delete;
  OwnGuard& operator=(const OwnGuard&) = delete;

  /// Passes these credentials to the guard, and to each later guard. An empty field removes the
  /// earlier value. etcd's user stays. Each guard also gets up to three that were set before
  /// (RecentCredentials), because etcd may not accept the new ones yet. Does nothing if these are
  /// the same as the last. Returns at once; the guard gets them soon.
  void SetCredentials(const EtcdCredentials& credentials);

  /// From now on, every kProgressEvery (hang_judge.h), notes for the guard when the loop made its
  /// last turn. Does nothing if `hang_timeout` is 0. REQUIRES: called once; the loop ends before
  /// this object.
  void FollowProgress(Executor& loop);
  /// Call it when the loop has ended: the guard then expects no progress any more.
  void EndProgress() noexcept {
    if (page_ != nullptr) page_->Clear();
  }

  /// Whether a guard runs now, and how many were started so far. A start that the system refused is
  /// not counted.
  GuardCounters counters() const { return {.running = running_.load(), .starts = starts_.load()}; }

 private:
  class Run;
  OwnGuard(std::string program, GuardSettings settings, NodeLog& log, int wake,
           std::unique_ptr<ProgressPage> page);
  void Watch();
  void WatchOne(Run& run);
  /// A line for each of the credentials, the newest last.
  std::string Settings();
  void Wake();
  /// Waits for the duration. False: this object ends.
  bool Pause(Duration duration);

  const std::string program_;
  NodeLog& log_;
  const int wake_;                            ///< an eventfd
  const std::unique_ptr<ProgressPage> page_;  ///< null: hangs are not watched for
  std::atomic<bool> running_{false};
  std::atomic<std::uint64_t> starts_{0};
  const GuardSettings settings_;  ///< those at the start
  std::mutex mutex_;              // guards what follows
  RecentCredentials credentials_;
  bool changed_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace baton::runtime
