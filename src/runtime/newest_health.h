// NewestHealth: passes the health that the program stated last to the node's loop.
//
// A program may state its health again and again without a pause, and must not fill the loop's
// queue. So at most one call of Take waits in the queue, and Take returns the newest health.
// Thread-safe, lock-free.
#pragma once

#include <atomic>

namespace baton::runtime {

class NewestHealth {
 public:
  /// Sets the newest health. True: the caller must make sure that Take is called. False: an earlier
  /// caller does this already.
  [[nodiscard]] bool Set(bool healthy) {
    healthy_.store(healthy);
    return !on_its_way_.exchange(true);
  }
  /// Returns the newest health; before the first Set: true. After Take, the next Set returns true.
  bool Take() {
    on_its_way_.store(false);
    return healthy_.load();
  }

 private:
  std::atomic<bool> healthy_{true};
  std::atomic<bool> on_its_way_{false};
};

}  // namespace baton::runtime
