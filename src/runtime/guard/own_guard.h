// OwnGuard: a node's own guard, a process that outlives the node and ends its session when the
// node's process dies.
//
// A thread of this object starts the program again if it ends, and writes its settings to it. The
// guard ends by itself once the node's lock is free.
//
// Thread-safe.
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
  /// Starts the program. `log` must outlive this object. kNotFound: there is no such program.
  /// kInternal: the system gives no descriptor or thread. While this process does not hold the lock
  /// of `settings.state_dir`, its guards end at once, and are started again after pauses.
  static Result<std::unique_ptr<OwnGuard>> Start(const std::string& program,
                                                 const GuardSettings& settings, NodeLog& log);
  /// Waits up to a second for the guard's end. A guard that still works then is left to finish, and
  /// nobody reaps it before this process ends. REQUIRES: the node's lock was let go.
  ~OwnGuard();
  OwnGuard(const OwnGuard&) = delete;
  OwnGuard& operator=(const OwnGuard&) = delete;

  /// The guard uses these from now on.
  void SetCredentials(const EtcdCredentials& credentials);

  /// From now on the guard learns when the loop made its last turn. Without a timeout for hangs,
  /// does nothing. REQUIRES: the loop ends before this object.
  void FollowProgress(Executor& loop);
  /// The loop ends: no progress is expected any more.
  void EndProgress() noexcept {
    if (page_ != nullptr) page_->Clear();
  }

  GuardCounters counters() const { return {running_.load(), starts_.load()}; }

 private:
  class Run;
  OwnGuard(std::string program, GuardSettings settings, NodeLog& log, int wake,
           std::unique_ptr<ProgressPage> page);
  void Watch();
  void WatchOne(Run& run);
  std::string Settings();
  void Wake();
  /// Waits until the event or the deadline; false: stop.
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
