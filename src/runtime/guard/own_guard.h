// OwnGuard: a node's own guard. It is a process that outlives the node, and ends the node's session
// when the node's process dies.
//
// A thread of this object passes the settings to the guard, and starts the guard again if it ends.
// The pause before that doubles from 1 s to 1 min; it is 1 s again after a guard that lived for
// more than a minute. The guard ends by itself once the node's lock is free.
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
#include "runtime/node_log.h"

namespace baton::runtime {

class OwnGuard {
 public:
  /// Returns at once; the thread starts the program. `program`: a path, or a name to find on PATH.
  /// kNotFound: there is no such program. kInternal: the system gives no descriptor, memory or
  /// thread. A program that can't be run is logged as a warning, and tried again. While this
  /// process does not hold the lock of `settings.state_dir`, its guards end at once. REQUIRES:
  /// `log` outlives this object.
  static Result<std::unique_ptr<OwnGuard>> Start(const std::string& program,
                                                 const GuardSettings& settings, NodeLog& log);
  /// Waits up to a second for the guard's end. A guard that still works then is left to finish;
  /// nobody reaps it before this process ends. REQUIRES: the node's lock was released before.
  ~OwnGuard();
  OwnGuard(const OwnGuard&) = delete;
  OwnGuard& operator=(const OwnGuard&) = delete;

  /// Passes these credentials to the guard, and to each later one. Returns at once; the guard gets
  /// them soon. If it does not read, only the newest ones wait.
  void SetCredentials(const EtcdCredentials& credentials);

  /// From now on the guard learns, every kProgressEvery (hang_judge.h), when the loop made its last
  /// turn. Does nothing if `hang_timeout` is 0. REQUIRES: called once; the loop ends before this
  /// object.
  void FollowProgress(Executor& loop);
  /// Call it when the loop has ended: no progress is expected any more.
  void EndProgress() noexcept {
    if (page_ != nullptr) page_->Clear();
  }

  /// Whether a guard runs now, and how many were started.
  GuardCounters counters() const { return {running_.load(), starts_.load()}; }

 private:
  class Run;
  OwnGuard(std::string program, GuardSettings settings, NodeLog& log, int wake,
           std::unique_ptr<ProgressPage> page);
  void Watch();
  void WatchOne(Run& run);
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
  std::mutex mutex_;  // guards what follows
  GuardSettings settings_;
  bool changed_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace baton::runtime
