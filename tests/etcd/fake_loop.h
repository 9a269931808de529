// FakeLoop: the watch cursor's loop, for tests of one thread.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <utility>

#include "base/clock.h"
#include "etcd/watch_cursor.h"

namespace baton::etcd::testing {

/// A loop whose turns and timers the test drives.
class FakeLoop {
 public:
  CursorExecutor executor() {
    return {.post = [this](std::function<void()> run) { posted_.push_back(std::move(run)); },
            .schedule =
                [this](Duration delay, std::function<void()> run) {
                  timers_.emplace(now_ + delay, std::move(run));
                }};
  }

  void Run() {
    while (!posted_.empty()) {
      auto run = std::move(posted_.front());
      posted_.pop_front();
      run();
    }
  }

  void Advance(Duration by) {
    const Duration until = now_ + by;
    while (!timers_.empty() && timers_.begin()->first <= until) {
      auto timer = timers_.extract(timers_.begin());
      now_ = timer.key();
      timer.mapped()();
      Run();
    }
    now_ = until;
  }

 private:
  std::deque<std::function<void()>> posted_;
  std::multimap<Duration, std::function<void()>> timers_;
  Duration now_{0};
};

}  // namespace baton::etcd::testing
