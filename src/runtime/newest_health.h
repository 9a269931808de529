// NewestHealth: the health that the program stated last, on its way to the node's loop.
//
// A program may state its health again and again without a pause, and must not fill the loop's
// queue. So at most one function waits in the queue, and this function takes the newest statement.
// Thread-safe, lock-free.
#pragma once

#include <atomic>

namespace baton::runtime {

class NewestHealth {
 public:
  /// Sets the newest health. Returns true if the caller must make sure that Take is called. Returns
  /// false if an earlier caller does so already.
  [[nodiscard]] bool Set(bool healthy) {
    healthy_.store(healthy);
    return !on_its_way_.exchange(true);
  }
  /// Returns the newest health; before the first Set: true. The next Set returns true again.
  bool Take() {
    on_its_way_.store(false);
    return healthy_.load();
  }

 private:
  std::atomic<bool> healthy_{true};
  std::atomic<bool> on_its_way_{false};
};

}  // namespace baton::runtime
