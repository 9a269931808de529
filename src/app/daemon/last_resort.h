// LastResort: ends this process if gRPC's servers take too long to end. A flood of calls can keep
// gRPC's threads busy for a long time, and the servers wait for these threads.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <thread>

#include "base/log.h"

namespace baton::app {

class LastResort {
 public:
  /// Starts a thread. If this object still exists after `bound`, the thread logs a warning and ends
  /// the process with the exit code `code`, without destructors. If the host has no thread left,
  /// the constructor logs a warning, and nothing ends the process.
  LastResort(std::chrono::seconds bound, int code) {
    try {
      thread_ = std::jthread([this, bound, code](const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, stop, bound, [&stop] { return stop.stop_requested(); });
        if (stop.stop_requested()) return;
        log::Warn("gRPC's servers have not ended in time; this process ends without them",
                  {{"after_s", bound.count()}});
        log::ShutDownLog();
        std::_Exit(code);
      });
    } catch (const std::system_error& error) {
      log::Warn("nothing bounds the end of gRPC's servers", {{"why", error.what()}});
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::jthread thread_;  // last: it ends before the others do
};

}  // namespace baton::app
