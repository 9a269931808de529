// NewestHealth: the health that the program stated last, on its way to the loop.
//
// A program may state its health in a tight loop, and must not fill the loop's queue. So at most
// one step is on its way, and it takes the newest statement. Thread-safe, lock-free.
#pragma once

#include <atomic>

namespace baton::runtime {

class NewestHealth {
 public:
  /// Sets the newest health; at first it is true. True: the caller must make sure that Take is
  /// called. False: an earlier caller has done so already.
  [[nodiscard]] bool Set(bool healthy) {
    healthy_.store(healthy);
    return !on_its_way_.exchange(true);
  }
  /// Returns the newest health. The next Set returns true again.
  bool Take() {
    on_its_way_.store(false);
    return healthy_.load();
  }

 private:
  std::atomic<bool> healthy_{true};
  std::atomic<bool> on_its_way_{false};
};

}  // namespace baton::runtime
